# SPDX-License-Identifier: GPL-2.0
# The demo's chart: gnuplot -e "tsv='build/demo.tsv'; base='build/demo'" scripts/demo.gp
set encoding utf8
set datafile separator "\t"
set datafile commentschars ""

kernel = system("sed -n 's/^# kernel\\t//p' '" . tsv . "'")
machine = system("sed -n 's/^# machine\\t//p' '" . tsv . "'")
rows = "< grep -v '^#' '" . tsv . "'"

# short labels, broken in two or three lines
label(key) = key eq "sparse" ? "sparse pages,\nthen 64 MiB\nin a row" : \
	key eq "backward-seq" ? "512 MiB\nbackward,\nSEQUENTIAL" : \
	key eq "backward-huge" ? "512 MiB\nbackward,\nHUGEPAGE" : \
	key eq "model" ? "safetensors\n1 GiB" : \
	key eq "slow-model" ? "safetensors\n256 MiB, 1 ms\na request" : key

number(x) = x >= 1e6 ? sprintf("%d,%03d,%03d", int(x / 1e6), int(x / 1e3) % 1000, int(x) % 1000) : \
	x >= 1000 ? sprintf("%d,%03d", int(x / 1000), int(x) % 1000) : sprintf("%d", int(x))
seconds(x) = x >= 9.95 ? sprintf("%.0f s", x) : sprintf("%.1f s", x)
times(a, b) = a / b >= 9.95 ? sprintf("%.0f×", a / b) : sprintf("%.1f×", a / b)
at_least(x, low) = x > low ? x : low

set style fill solid 1.0 noborder
set boxwidth 0.36
set logscale y
set grid ytics lt 1 lw 0.6 lc rgb "#dddddd"
set border 1 lc rgb "#888888"
set tics scale 0
set ytics textcolor rgb "#666666"
set xtics textcolor rgb "#222222" offset 0,-0.2
set xrange [-0.55:4.55]
stock = "#b8bec8"
ours = "#1f6fb2"

do for [kind in "svg png"] {
	if (kind eq "svg") {
		set terminal svg size 1280,600 font "DejaVu Sans,13" background rgb "white"
	} else {
		set terminal pngcairo size 1280,600 font "DejaVu Sans,10.5" background rgb "white"
	}
	set output base . "." . kind
	set multiplot
	set label 1 "Loads from a mapped file, cold cache, read\\_ahead\\_kb 128" at screen 0.5,0.955 center \
		font ",17" textcolor rgb "#111111"
	set label 2 "stock Linux " . system("printf %s '" . kernel . "' | sed 's/_/\\\\_/g'") . "  (" . machine . ")" \
		at screen 0.5,0.905 center textcolor rgb "#555555" noenhanced
	set lmargin at screen 0.06
	set rmargin at screen 0.485
	set tmargin at screen 0.80
	set bmargin at screen 0.17
	set key at screen 0.5,0.86 center horizontal samplen 1.2 spacing 1 width 2
	set title "Waits for the disk (major faults)" offset 0,-0.3
	set yrange [0.7:2e6]
	set format y "10^{%T}"
	plot rows using ($0 - 0.19):(at_least($3, 1)):xtic(label(strcol(1))) with boxes lc rgb stock title "without mmapra", \
		rows using ($0 + 0.19):(at_least($6, 1)) with boxes lc rgb ours title "with mmapra", \
		rows using ($0 - 0.19):(at_least($3, 1)):(number($3)) with labels offset 0,0.6 \
			textcolor rgb "#666666" font ",10" notitle, \
		rows using ($0 + 0.19):(at_least($6, 1)):(number($6)) with labels offset 0,0.6 \
			textcolor rgb ours font ",10" notitle
	unset label 1
	unset label 2
	unset key
	set lmargin at screen 0.555
	set rmargin at screen 0.98
	set title "Seconds, and how many times faster"
	set yrange [0.05:1000]
	set format y "%g"
	plot rows using ($0 - 0.19):(at_least($5, 0.05)):xtic(label(strcol(1))) with boxes lc rgb stock notitle, \
		rows using ($0 + 0.19):(at_least($8, 0.05)) with boxes lc rgb ours notitle, \
		rows using ($0 - 0.19):(at_least($5, 0.05)):(seconds($5)) with labels offset 0,0.6 \
			textcolor rgb "#666666" font ",10" notitle, \
		rows using ($0 + 0.19):(at_least($8, 0.05)):(seconds($8)) with labels offset 0,0.6 \
			textcolor rgb ours font ",10" notitle, \
		rows using ($0 + 0.19):(at_least($5, 0.05) * 2.1):(times($5, $8)) with labels \
			textcolor rgb ours font ",15" notitle
	unset multiplot
	set output
}

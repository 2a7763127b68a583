/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault.h - the two wrappers, and the end of an open file
 */
#ifndef MMAPRA_FAULT_H
#define MMAPRA_FAULT_H

/**
 * fault_arm() - attach the hooks; may sleep
 *
 * Return: 0 or an errno of hook_attach(), with a line in the log
 */
int fault_arm(void);

/**
 * fault_disarm() - detach the hooks and wait for the last task to leave them
 *
 * May sleep, for as long as a read that a fault waits for takes.
 *
 * Return: 0, or -ENODEV if ftrace shut itself off and the hooks stay
 */
int fault_disarm(void);

#endif

/* Two computations at the same time, nested to any depth, by work stealing.

   A fork puts its right side on the deque of its thread, runs the left side, and then takes the right side back, unless somebody else
   has taken it: then it helps with other forks until that one is done. Nobody ever waits without working, so nesting cannot lock up. What
   the sides compute does not depend on who runs them. The error of a fork is that of its left side, if both fail.

   The first fork of a run opens a session, in which the team steals until that fork is over. A loop inside a session is a fork of its
   chunks; a fork inside a loop in chunks runs one side after the other. A session costs some microseconds: if one was over so soon that it
   was not worth it, the next forks open none, and more of them each time that happens again. */

typedef int (*cw_side)(cw_context *ctx, void *data);

/* Runs both sides; nonzero if one failed. */
__attribute__((noinline)) CW_SHARED int cw_fork(cw_context *ctx, cw_side left, void *left_data, cw_side right, void *right_data);

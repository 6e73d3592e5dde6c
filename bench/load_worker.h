/* `stoker bench load-turns ROOT [fast]`: ourselves as a contestant of `stoker bench load`, in a process of
 * its own, asked for turns on standard input as bench/peers/serve.py is. Not for people. */
#ifndef STK_BENCH_TURNS_H
#define STK_BENCH_TURNS_H

int stk__bench_turns(int argc, char **argv);

#endif

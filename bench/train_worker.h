/* `stoker bench train-turns FOLDER [ENGINE]`: ourselves as a contestant of `stoker bench train`, in a process
 * of its own, at the lesson in FOLDER (bench_lesson.h), asked for turns as bench/peers/train_turns.py is, and
 * with the engine torch for `share`: how much of a step's CPU time was not spent in PyTorch's operators. Not
 * for people. */
#ifndef STK_BENCH_TRAIN_TURNS_H
#define STK_BENCH_TRAIN_TURNS_H

int stk__bench_train_turns(int argc, char **argv);

#endif

//===- Program.h - What an executable's parts know of each other -*- C++
//-*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime needs libc and libm only: no C++ library, no exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_RUNTIME_PROGRAM_H
#define TIMERL_LIB_RUNTIME_PROGRAM_H

#include <stdint.h>
#include <stdio.h>

// What the compiler generates: the program, and its description, a line each of
//   arena BYTES
//   scratch BYTES, which each thread needs
//   sanitize BYTES RANK, where slots are tested
//   arg NAME TYPE DEFAULT
//   input TYPE NAME, followed by extent LENGTH for each axis
//   buffer OFFSET BYTES TENSOR
//   report TYPE NAME, followed by dim NAME for each of its dims and by
//     rows NUMBER where it is known how many there are at most
//   record TYPE NAME, followed by position LEAST EXTENT for each of its
//     positions and by length LENGTH for each axis of its values
//   save TYPE NAME, followed by points NUMBER and axis LENGTH for each axis
extern "C" void timerl_program_run(void *arena, void *args, void *scratch);
extern "C" const char timerl_program_text[];
/// The schedule as JSON.
extern "C" const char timerl_program_schedule[];

namespace timerl::rt {

enum class Type { Bool, I32, I64, F32, F64, U8 };

/// A value of the widest type of its kind.
union Scalar {
  int64_t integer;
  double floating;
};

struct Arg {
  char *name;
  Type type;
  Scalar value;
};

struct Report {
  char *name;
  Type type;
  char **dims;
  int rank;
  /// Points as they come: rank coordinates each, and a value.
  int64_t *points;
  Scalar *values;
  int64_t count, capacity;
};

/// Where a tensor's values lie in the arena.
struct Buffer {
  char *tensor;
  int64_t offset, bytes;
};

/// A tensor that is read from a file: the values over its dims, in order.
struct Input {
  char *name;
  Type type;
  int64_t *axes;
  int rank;
  const char *path; ///< Null: not given.
  void *data;
};

/// An array that is saved: the values of all points, in order.
struct Save {
  char *name;
  Type type;
  int64_t points;
  int64_t *axes; ///< Those of the points, then those of a value.
  int rank;
  char *data; ///< Null unless the run saves.
  uint64_t bytes;
  /// Of each axis, if some have the length that the run gives them: how many
  /// indices were saved, or -1.
  int64_t *reached = nullptr;
};

/// A tensor whose values at all points are kept.
struct Record {
  Save values, mask, corner; ///< Arrays NAME, NAME@mask and NAME@lo.
  int64_t *least, *extents;
  int positions;
};

struct Program {
  Arg *args;
  int numArgs;
  Input *inputs;
  int numInputs;
  Report *reports;
  int numReports;
  Save *saves;
  int numSaves;
  Buffer *buffers;
  int numBuffers;
  Record *records;
  int numRecords;
  int64_t arenaBytes, scratchBytes;
  /// Of a build that tests its slots: bytes of the narrowest element (else 0),
  /// and the greatest number of a point's coordinates.
  int64_t sanitizeGranule, sanitizeRank;
  uint64_t seed;
};
extern Program program;

/// Reads `timerl_program_text`.
void readDescription();

/// Bytes of an element.
uint64_t widthOf(Type type);

/// The shortest text that reads back as the same number, in `buffer` of 400.
void printScalar(char *buffer, Type type, Scalar value);

/// A table for each list of dims, rows in the order of points.
void printTables(FILE *file);
/// One table with the columns of all reports; cells without a value are empty.
bool writeCsv(const char *path);
/// One JSON object a row; what is no finite number is a string.
bool writeJsonLines(const char *path);

/// The number of a signal that asks for an end, or 0. The next report ends the
/// run.
extern volatile int interrupted;
/// Prints and writes what has been reported so far, and ends the process as the
/// signal would have.
[[noreturn]] void stopEarly();

/// Reads every input and stores pointers to them behind the args. A missing,
/// damaged or unfit file ends the process with a message.
void loadInputs(int64_t *slots);

/// The processors that this process may use, by affinity and control group.
int availableProcessors();
/// Starts the other threads; each gets its part of `scratch`.
void startThreads(int count, char *scratch, int64_t scratchBytes);

/// Room to keep what each slot holds, if slots are tested. `descends`: loops
/// without an order run backwards.
void prepareSanitizer(const char *arena, bool descends);

/// Room for the rows of all reports, so that a run allocates nothing.
void prepareReports();

/// Room for all saved arrays, zeros at first.
void prepareSaves();
/// Writes them as an NPZ archive, whole or not at all.
bool writeNpz(const char *path);
bool writeArchive(const char *path, const Save *arrays, int count);

/// Room for everything that a recorded run keeps; and its archive.
void prepareRecords();
bool writeRecords(const char *path);

/// A new file next to `path`, whose name is stored in `temporary`; null on
/// failure. `finishFile` puts it in `path`'s place.
FILE *beginFile(const char *path, char **temporary);
bool finishFile(FILE *file, char *temporary, const char *path);

/// Prints `NAME: error: ...` and ends the process.
[[noreturn]] void fail(int exitCode, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Memory for the lifetime of the process; fails with a message.
void *allocate(void *old, uint64_t bytes);

} // namespace timerl::rt

#endif // TIMERL_LIB_RUNTIME_PROGRAM_H

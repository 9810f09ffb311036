//===- Threads.cpp - A pool of threads ------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One fork and one join for each loop that is split. The range has a few parts
// for each thread, which whoever is free takes: a thread that the system does
// not run at the moment holds nobody up. Waiting threads spin for some
// microseconds before they sleep.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

using namespace timerl::rt;

namespace {
using Task = void (*)(void *context, void *scratch, int64_t lo, int64_t hi);

/// Parts of a range, for each thread.
constexpr int partsPerThread = 2;

struct Pool {
  int threads = 1;
  int spins = 0;
  char *scratch = nullptr;
  int64_t scratchBytes = 0;
  // The task at hand. They change only when all its parts are done.
  Task task = nullptr;
  void *context = nullptr;
  int64_t count = 0, parts = 0;
  /// The number of the task in the upper half, its next part in the lower.
  uint64_t next = 0;
  int64_t done = 0; ///< Parts.
  int sleepers = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t started = PTHREAD_COND_INITIALIZER;
};
} // namespace

static Pool pool;

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static uint32_t currentTask() {
  return static_cast<uint32_t>(__atomic_load_n(&pool.next, __ATOMIC_ACQUIRE) >>
                               32);
}

/// Takes parts of the task at hand until none is left.
static void runParts(int thread) {
  uint64_t next = __atomic_load_n(&pool.next, __ATOMIC_ACQUIRE);
  for (;;) {
    int64_t part = static_cast<uint32_t>(next);
    if (part >= __atomic_load_n(&pool.parts, __ATOMIC_ACQUIRE))
      return;
    if (!__atomic_compare_exchange_n(&pool.next, &next, next + 1, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      continue;
    // The part is ours, so the task stays until it is done.
    int64_t lo = pool.count * part / pool.parts,
            hi = pool.count * (part + 1) / pool.parts;
    if (lo < hi)
      pool.task(pool.context, pool.scratch + thread * pool.scratchBytes, lo,
                hi);
    __atomic_add_fetch(&pool.done, 1, __ATOMIC_ACQ_REL);
    next = __atomic_load_n(&pool.next, __ATOMIC_ACQUIRE);
  }
}

static void *work(void *argument) {
  int thread = static_cast<int>(reinterpret_cast<intptr_t>(argument));
#if defined(__x86_64__)
  // Denormals are zero, as on the first thread.
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
  for (uint32_t seen = 0;; seen = currentTask()) {
    for (int k = 0; k < pool.spins && currentTask() == seen; ++k)
      pause();
    if (currentTask() == seen) {
      pthread_mutex_lock(&pool.mutex);
      __atomic_add_fetch(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
      while (static_cast<uint32_t>(
                 __atomic_load_n(&pool.next, __ATOMIC_SEQ_CST) >> 32) == seen)
        pthread_cond_wait(&pool.started, &pool.mutex);
      __atomic_sub_fetch(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
      pthread_mutex_unlock(&pool.mutex);
    }
    runParts(thread);
  }
  return nullptr;
}

extern "C" void timerl_rt_parallel(Task task, void *context, int64_t count) {
  if (pool.threads == 1) {
    if (count > 0)
      task(context, pool.scratch, 0, count);
    return;
  }
  // Nobody finds a part while these change: the last task's are all taken, and
  // there are none of the next one until its number is out.
  uint64_t number = (__atomic_load_n(&pool.next, __ATOMIC_ACQUIRE) >> 32) + 1;
  __atomic_store_n(&pool.parts, 0, __ATOMIC_RELEASE);
  pool.task = task;
  pool.context = context;
  pool.count = count;
  __atomic_store_n(&pool.done, 0, __ATOMIC_RELEASE);
  int64_t parts = static_cast<int64_t>(pool.threads) * partsPerThread;
  if (parts > count)
    parts = count;
  __atomic_store_n(&pool.next, number << 32, __ATOMIC_SEQ_CST);
  __atomic_store_n(&pool.parts, parts, __ATOMIC_RELEASE);
  if (__atomic_load_n(&pool.sleepers, __ATOMIC_SEQ_CST)) {
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_broadcast(&pool.started);
    pthread_mutex_unlock(&pool.mutex);
  }
  runParts(0);
  for (int k = 0; __atomic_load_n(&pool.done, __ATOMIC_ACQUIRE) < parts; ++k)
    if (k < pool.spins)
      pause();
    else
      sched_yield();
}

/// The processors' time that the control group grants, in processors; 0: all.
static int processorQuota() {
  FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
  if (!file)
    return 0;
  char quota[32];
  long period = 0;
  int found = fscanf(file, "%31s %ld", quota, &period);
  fclose(file);
  long granted = found == 2 ? strtol(quota, nullptr, 10) : 0;
  if (granted <= 0 || period <= 0)
    return 0;
  return static_cast<int>((granted + period - 1) / period);
}

int timerl::rt::availableProcessors() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
  int quota = processorQuota();
  return quota && quota < count ? quota : count;
}

void timerl::rt::startThreads(int count, char *scratch, int64_t scratchBytes) {
  pool.threads = count;
  pool.scratch = scratch;
  pool.scratchBytes = scratchBytes;
  pool.spins = count <= availableProcessors() ? 2000 : 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 1 << 20);
  for (int k = 1; k < count; ++k) {
    pthread_t thread;
    int failure =
        pthread_create(&thread, &attributes, work,
                       reinterpret_cast<void *>(static_cast<intptr_t>(k)));
    if (failure)
      fail(1, "can't start thread %d of %d: %s", k + 1, count,
           strerror(failure));
  }
  pthread_attr_destroy(&attributes);
}

// SPDX-License-Identifier: Apache-2.0

// For ThreadSanitizer builds alone (scripts/test --sanitize thread).
//
// Synchronization.Mutex takes a free lock by code that is compiled into its user, and a contended one by a function in
// libswiftSynchronization.so, which is not instrumented: ThreadSanitizer sees the unlock, misses the lock that follows
// it, and reports a race for everything that such a mutex protects. Linked into the tests, this takes that function's
// place. The word is that of a priority-inheriting futex: 0, or the owner's thread number. Who waits sleeps between its
// attempts: threads that only yield take both cores from the one that holds the lock.

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

__attribute__((swiftcall)) void lock_slowly(uint32_t self, __attribute__((swift_context)) uint32_t *word)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");

__attribute__((swiftcall)) void lock_slowly(uint32_t self, __attribute__((swift_context)) uint32_t *word) {
    for (int attempt = 0;; attempt++) {
        uint32_t seen = 0;
        if (__atomic_compare_exchange_n(word, &seen, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
        if (attempt < 16) sched_yield(); else usleep(50);
    }
}

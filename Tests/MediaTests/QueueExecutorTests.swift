// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Media
import Testing

@Suite struct QueueExecutorTests {
    private actor Counter: QueueActor {
        nonisolated let executor = QueueExecutor(DispatchQueue(label: "test"))
        private(set) var numbers: [Int] = []

        func add(_ number: Int) { numbers.append(number) }
    }

    @Test("Work that is posted to an actor's queue runs in order, and before calls that await the actor later")
    func order() async {
        let counter = Counter()
        for number in 0..<1000 { counter.post { $0.add(number) } }
        #expect(await counter.numbers == Array(0..<1000))
    }

    @Test("Many wakes of a queue cause one run of its work, and a wake during that run causes another one")
    func wakes() {
        let flag = WakeFlag()
        let first = (0..<10).map { _ in flag.raise() }
        #expect(first == [true] + [Bool](repeating: false, count: 9))
        flag.lower()
        let second = flag.raise()
        #expect(second)
    }
}

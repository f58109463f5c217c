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

    @Test("Posted work runs in order on the actor's queue, before callers that await later")
    func order() async {
        let counter = Counter()
        for number in 0..<1000 { counter.post { $0.add(number) } }
        #expect(await counter.numbers == Array(0..<1000))
    }

    @Test("Many wakes cause one pass, and a wake after the pass began causes another pass")
    func wakes() {
        let flag = WakeFlag()
        let first = (0..<10).map { _ in flag.raise() }
        #expect(first == [true] + [Bool](repeating: false, count: 9))
        flag.lower()
        let second = flag.raise()
        #expect(second)
    }
}

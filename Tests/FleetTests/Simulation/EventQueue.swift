// SPDX-License-Identifier: Apache-2.0

import Media

/// Events in the order of their times, and of their insertion at the same time. A binary heap.
struct EventQueue<Event> {
    private struct Item {
        var time: TrueInstant
        var order: Int
        var event: Event

        func isBefore(_ other: Item) -> Bool { (time, order) < (other.time, other.order) }
    }

    private var items: [Item] = []
    private var inserted = 0

    /// The time of the first event.
    var next: TrueInstant? { items.first?.time }

    /// Inserts an event.
    mutating func insert(_ event: Event, at time: TrueInstant) {
        inserted += 1
        items.append(Item(time: time, order: inserted, event: event))
        var child = items.count - 1
        while child > 0, items[child].isBefore(items[(child - 1) / 2]) {
            items.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes the first event, and returns it with its time.
    mutating func removeFirst() -> (time: TrueInstant, event: Event)? {
        guard let first = items.first else { return nil }
        let last = items.removeLast()
        guard !items.isEmpty else { return (first.time, first.event) }
        items[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < items.count && items[child].isBefore(items[least]) {
                least = child
            }
            guard least != parent else { return (first.time, first.event) }
            items.swapAt(parent, least)
            parent = least
        }
    }
}

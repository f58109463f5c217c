// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

@testable import Catalogue

/// Counts the instructions that SQLite's virtual machine executes: at least one for each row that it steps over, in a
/// table or an index.
final class StepCounter {
    private let count: UnsafeMutablePointer<Int>

    init(_ store: CatalogueStore) throws {
        count = .allocate(capacity: 1)
        count.initialize(to: 0)
        let place = UnsafeMutableRawPointer(count)
        try store.read { database in
            sqlite3_progress_handler(
                database.sqliteConnection, 1,
                { place in
                    place?.assumingMemoryBound(to: Int.self).pointee += 1
                    return 0
                }, place)
        }
    }

    /// Returns the number of instructions for `body`.
    func steps(_ body: () throws -> Void) rethrows -> Int {
        let before = count.pointee
        try body()
        return count.pointee - before
    }

    /// Stops counting.
    func stop(_ store: CatalogueStore) throws {
        try store.read { sqlite3_progress_handler($0.sqliteConnection, 0, nil, nil) }
        count.deallocate()
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// The readable rows of a table, and whether they are complete.
///
/// If a page is damaged, its rows are lost: reading the table ends there with an error or, if the page still looks
/// valid, skips the rows. The index of the primary key stores the number of each row in its own pages, and so it also
/// finds the rows after the damage. The rows are complete only if the table and its index agree.
struct SalvagedRows {
    /// The rows; the column `row_number` is the row's number.
    private(set) var rows: [Row] = []
    private(set) var isWhole = true

    /// Reads `table`, whose primary key consists of the columns `key`. Errors end the reading and are not thrown.
    init(of table: String, key: [String], in database: Database) {
        let all = "SELECT rowid AS row_number, * FROM \(table) NOT INDEXED"
        let names = ["row_number"] + key
        var found: Set<[DatabaseValue]> = []
        isWhole = Self.read(all, database) { row in
            rows.append(row)
            found.insert(names.map { row[$0] as DatabaseValue })
        }
        var indexed: Set<[DatabaseValue]> = []
        let index = "SELECT rowid AS row_number, \(key.joined(separator: ", ")) FROM \(table)"
        let isIndexWhole = Self.read("\(index) INDEXED BY sqlite_autoindex_\(table)_1", database) { row in
            indexed.insert(names.map { row[$0] as DatabaseValue })
        }
        isWhole = isWhole && isIndexWhole && found == indexed
        for entry in indexed.subtracting(found) {
            guard let row = try? Row.fetchOne(database, sql: "\(all) WHERE rowid = ?", arguments: [entry[0]]) else {
                continue
            }
            rows.append(row)
        }
    }

    /// Passes each row of the query `sql` to `body`; returns false if an error ended the query.
    private static func read(_ sql: String, _ database: Database, _ body: (Row) -> Void) -> Bool {
        do {
            let cursor = try Row.fetchCursor(database, sql: sql)
            while let row = try cursor.next() { body(row.copy()) }
            return true
        } catch {
            return false
        }
    }
}

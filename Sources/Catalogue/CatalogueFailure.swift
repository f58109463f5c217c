// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// Why the catalogue cannot be read or written.
package enum CatalogueFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file is not a database, or is damaged.
    case damaged(String)
    /// The database was made by a newer version of relay.
    case newer(String)
    /// Any other failure: no space, no permission, locked for too long.
    case failed(String)

    package var description: String {
        switch self {
        case .damaged(let text), .newer(let text), .failed(let text): text
        }
    }

    /// A failure from SQLite's error during `operation` on the database at `path`.
    init(_ operation: String, _ path: String, _ error: any Error) {
        if let failure = error as? CatalogueFailure {
            self = failure
            return
        }
        guard let database = error as? DatabaseError else {
            self = .damaged("cannot \(operation) \(path): its rows are not what they should be")
            return
        }
        let reason = database.message ?? "SQLite's error \(database.resultCode.rawValue)"
        let text = "cannot \(operation) \(path): \(reason)"
        switch database.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged(text)
        default: self = .failed(text)
        }
    }
}

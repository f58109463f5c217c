// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A request to the JSON gateway of etcd 3.4 or later: the path to which it is posted, and its body. Keys and values are
/// Base64, 64-bit integers are texts.
package enum EtcdRequest: Sendable, Equatable {
    /// A condition of a transaction.
    package enum Condition: Sendable, Equatable {
        /// The key was created at this revision; 0 means that it does not exist.
        case created(key: String, revision: Int64)
        /// The key exists.
        case exists(key: String)
    }

    /// A part of a transaction.
    package enum Operation: Sendable, Equatable {
        /// Write a key, which ends with the lease.
        case put(key: String, value: String, lease: Int64)
        /// Delete a key.
        case delete(key: String)
        /// Read a key.
        case read(key: String)
    }

    /// Create a lease.
    case grant(seconds: Int64)
    /// Renew a lease, once. A stream of renewals in one body is not reliable (etcd issue 8237).
    case keepAlive(lease: Int64)
    /// End a lease.
    case revoke(lease: Int64)
    /// If all conditions are met, do the first operations, and else the others.
    case transaction([Condition], then: [Operation], otherwise: [Operation])
    /// Read all keys with this prefix that were modified at `since` or later. The answer counts all keys.
    case range(prefix: String, since: Int64)
    /// Watch all keys with this prefix, from this revision on.
    case watch(prefix: String, since: Int64)

    /// The path of the gateway.
    package var path: String {
        switch self {
        case .grant: "/v3/lease/grant"
        case .keepAlive: "/v3/lease/keepalive"
        case .revoke: "/v3/lease/revoke"
        case .transaction: "/v3/kv/txn"
        case .range: "/v3/kv/range"
        case .watch: "/v3/watch"
        }
    }

    /// The body, as JSON.
    package var body: String { FleetJSON.text(message) }

    private var message: EtcdMessage {
        switch self {
        case .grant(let seconds): return .fields(["TTL": Self.integer(seconds)])
        case .keepAlive(let lease), .revoke(let lease): return .fields(["ID": Self.integer(lease)])
        case .transaction(let conditions, let then, let otherwise):
            return .fields([
                "compare": .list(conditions.map(\.message)), "success": .list(then.map(\.message)),
                "failure": .list(otherwise.map(\.message)),
            ])
        case .range(let prefix, let since):
            var members = Self.prefixed(prefix)
            if since > 0 { members["min_mod_revision"] = Self.integer(since) }
            return .fields(members)
        case .watch(let prefix, let since):
            var members = Self.prefixed(prefix)
            members["start_revision"] = Self.integer(since)
            return .fields(["create_request": .fields(members)])
        }
    }

    /// A 64-bit integer, as Protocol Buffers write it in JSON.
    static func integer(_ integer: Int64) -> EtcdMessage { .text(String(integer)) }

    /// Bytes, as Protocol Buffers write them in JSON.
    static func bytes(_ bytes: [UInt8]) -> EtcdMessage { .text(Data(bytes).base64EncodedString()) }

    /// The bytes of a text.
    static func bytes(_ text: String) -> EtcdMessage { bytes(Array(text.utf8)) }

    /// The range of all keys with this prefix: it ends before the prefix whose last byte is one higher.
    private static func prefixed(_ prefix: String) -> [String: EtcdMessage] {
        var end = Array(prefix.utf8)
        while let last = end.popLast() {
            guard last < 0xFF else { continue }
            end.append(last + 1)
            break
        }
        // If both `key` and `range_end` are one zero byte, the range is all keys.
        let isAll = end.isEmpty
        return [
            "key": isAll ? bytes([0]) : bytes(prefix),
            "range_end": bytes(isAll ? [0] : end),
        ]
    }
}

extension EtcdRequest.Condition {
    fileprivate var message: EtcdMessage {
        switch self {
        case .created(let key, let revision):
            .fields([
                "key": EtcdRequest.bytes(key), "target": .text("CREATE"), "result": .text("EQUAL"),
                "create_revision": EtcdRequest.integer(revision),
            ])
        case .exists(let key):
            .fields([
                "key": EtcdRequest.bytes(key), "target": .text("CREATE"), "result": .text("GREATER"),
                "create_revision": EtcdRequest.integer(0),
            ])
        }
    }
}

extension EtcdRequest.Operation {
    fileprivate var message: EtcdMessage {
        switch self {
        case .put(let key, let value, let lease):
            .fields([
                "request_put": .fields([
                    "key": EtcdRequest.bytes(key), "value": EtcdRequest.bytes(value),
                    "lease": EtcdRequest.integer(lease),
                ])
            ])
        case .delete(let key): .fields(["request_delete_range": .fields(["key": EtcdRequest.bytes(key)])])
        case .read(let key): .fields(["request_range": .fields(["key": EtcdRequest.bytes(key)])])
        }
    }
}

/// A part of a request's body.
enum EtcdMessage: Encodable {
    case text(String)
    case list([EtcdMessage])
    case fields([String: EtcdMessage])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .list(let elements): try container.encode(elements)
        case .fields(let fields): try container.encode(fields)
        }
    }
}

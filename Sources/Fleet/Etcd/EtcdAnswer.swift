// SPDX-License-Identifier: Apache-2.0

/// A key of etcd with its value.
package struct EtcdKeyValue: Sendable, Equatable {
    /// The key. A key that is no text is not one of the fleet's.
    package var key: String
    /// The value.
    package var value: [UInt8]
    /// The revisions at which the key was created and last written.
    package var created: Int64
    package var modified: Int64
    /// The lease with which the key ends; nil without one.
    package var lease: Int64?

    /// Reads what the gateway writes. Fields that are zero or empty are absent; nil if the key is absent or no text.
    init?(_ value: JSONValue) {
        guard let bytes = value["key"]?.text.flatMap(Base64Text.decode),
            let key = String(validating: bytes, as: UTF8.self)
        else { return nil }
        self.key = key
        guard let content = value["value"].map({ $0.text.flatMap(Base64Text.decode) }) ?? [] else { return nil }
        self.value = content
        (created, modified) = (value["create_revision"]?.integer ?? 0, value["mod_revision"]?.integer ?? 0)
        lease = value["lease"]?.integer.flatMap { $0 == 0 ? nil : $0 }
    }
}

/// What etcd's JSON gateway answers. Each function reads the body of one kind of answer.
package enum EtcdAnswer {
    /// Why there is no answer.
    package enum Failure: Error, Equatable {
        /// The body is no JSON, or not what etcd writes.
        case malformed
        /// etcd refused the request, with the code of gRPC and a sentence.
        case refused(code: Int64, message: String)

        /// The code of gRPC for something that does not exist: a lease that has ended.
        package static let notFound: Int64 = 5
    }

    /// The answer to a transaction.
    package struct Transaction: Sendable, Equatable {
        /// Whether the conditions were met.
        package var succeeded: Bool
        /// The store's revision: the one that the transaction made, if it changed anything.
        package var revision: Int64
        /// The keys that the transaction read, in the order of its reads; nil for one that does not exist.
        package var reads: [EtcdKeyValue?]
    }

    /// A line of a watch.
    package struct WatchLine: Sendable, Equatable {
        /// A change of a key. A deleted key has no value.
        package enum Change: Sendable, Equatable {
            /// The key was written.
            case put(EtcdKeyValue)
            /// The key was deleted at this revision.
            case delete(key: String, revision: Int64)
        }

        /// The store's revision.
        package var revision: Int64
        /// The changes, in order.
        package var changes: [Change]
        /// Whether the watch has ended, for instance because its first revision was discarded.
        package var isCanceled: Bool
    }

    /// The greatest length of a body in bytes. A read of 10,000 channels has about 3 MB.
    package static let limit = 32 << 20

    /// The answer to a grant: the lease and its time in seconds.
    package static func grant(_ body: some Sequence<UInt8>) throws(Failure) -> (lease: Int64, seconds: Int64) {
        let value = try value(body)
        guard let lease = value["ID"]?.integer, let seconds = value["TTL"]?.integer, lease != 0, seconds > 0 else {
            throw .malformed
        }
        return (lease, seconds)
    }

    /// The answer to a keep-alive: the lease's time in seconds. A lease that has ended has no time; then this is nil.
    package static func keepAlive(_ body: some Sequence<UInt8>, lease: Int64) throws(Failure) -> Int64? {
        let result = try result(of: value(body))
        guard result["ID"]?.integer == lease else { throw .malformed }
        guard let time = result["TTL"] else { return nil }
        guard let seconds = time.integer else { throw .malformed }
        return seconds > 0 ? seconds : nil
    }

    /// The answer to a revocation: the store's revision.
    package static func revoke(_ body: some Sequence<UInt8>) throws(Failure) -> Int64 { try revision(of: value(body)) }

    /// The answer to a transaction.
    package static func transaction(_ body: some Sequence<UInt8>) throws(Failure) -> Transaction {
        let value = try value(body)
        let responses = value["responses"].map { $0.elements } ?? []
        guard let responses else { throw .malformed }
        var reads: [EtcdKeyValue?] = []
        for case let range? in responses.map({ $0["response_range"] }) {
            let keys = try keyValues(range["kvs"])
            guard keys.count <= 1 else { throw .malformed }
            reads.append(keys.first)
        }
        return Transaction(
            succeeded: value["succeeded"] == .bool(true), revision: try revision(of: value), reads: reads)
    }

    /// The answer to a range: the store's revision, the keys, and the number of all keys with the prefix.
    package static func range(
        _ body: some Sequence<UInt8>
    ) throws(Failure) -> (revision: Int64, keys: [EtcdKeyValue], count: Int) {
        let value = try value(body)
        let keys = try keyValues(value["kvs"])
        guard let count = Int(exactly: value["count"]?.integer ?? 0), count >= keys.count else { throw .malformed }
        return (try revision(of: value), keys, count)
    }

    /// A line of the body of a watch.
    package static func watchLine(_ line: some Sequence<UInt8>) throws(Failure) -> WatchLine {
        let result = try result(of: value(line))
        guard let events = result["events"].map({ $0.elements }) ?? [] else { throw .malformed }
        var changes: [WatchLine.Change] = []
        for event in events {
            guard let entry = event["kv"].flatMap(EtcdKeyValue.init) else { throw .malformed }
            switch event["type"] {
            case nil, .string("PUT"): changes.append(.put(entry))
            case .string("DELETE"): changes.append(.delete(key: entry.key, revision: entry.modified))
            default: throw .malformed
            }
        }
        let isCanceled = result["canceled"] == .bool(true)
        let revision = isCanceled ? result["header"]?["revision"]?.integer ?? 0 : try revision(of: result)
        return WatchLine(revision: revision, changes: changes, isCanceled: isCanceled)
    }

    private static func value(_ body: some Sequence<UInt8>) throws(Failure) -> JSONValue {
        guard let value = try? JSONParser.value(of: body, limit: limit), case .object = value else { throw .malformed }
        guard let error = value["error"] else { return value }
        // A stream has the error as an object, everything else as a text.
        let code = error["grpc_code"]?.integer ?? value["code"]?.integer ?? 2
        throw .refused(code: code, message: error["message"]?.text ?? value["message"]?.text ?? error.text ?? "")
    }

    /// The message of a stream.
    private static func result(of value: JSONValue) throws(Failure) -> JSONValue {
        guard let result = value["result"], case .object = result else { throw .malformed }
        return result
    }

    private static func revision(of value: JSONValue) throws(Failure) -> Int64 {
        guard let revision = value["header"]?["revision"]?.integer, revision > 0 else { throw .malformed }
        return revision
    }

    private static func keyValues(_ value: JSONValue?) throws(Failure) -> [EtcdKeyValue] {
        guard let elements = value.map({ $0.elements }) ?? [] else { throw .malformed }
        let keys = elements.compactMap(EtcdKeyValue.init)
        guard keys.count == elements.count else { throw .malformed }
        return keys
    }
}

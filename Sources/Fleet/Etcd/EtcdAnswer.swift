// SPDX-License-Identifier: Apache-2.0

/// A key of etcd with its value.
package struct EtcdKeyValue: Sendable, Equatable {
    /// The key. The fleet's keys are valid UTF-8, so another key is not one of them.
    package var key: String
    /// The value.
    package var value: [UInt8]
    /// The revisions at which the key was created and last written.
    package var created: Int64
    package var modified: Int64
    /// The lease with which the key ends; nil without one.
    package var lease: Int64?

}

/// Reads what the gateway writes. Fields that are zero or empty are absent.
extension EtcdKeyValue: Decodable {
    private enum CodingKeys: String, CodingKey {
        case key, value, lease
        case created = "create_revision"
        case modified = "mod_revision"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        func integer(_ name: CodingKeys) throws -> Int64 {
            try fields.decodeIfPresent(WideInteger.self, forKey: name)?.value ?? 0
        }
        guard let key = String(validating: try fields.decode(Base64Bytes.self, forKey: .key).value, as: UTF8.self)
        else {
            throw DecodingError.dataCorruptedError(forKey: .key, in: fields, debugDescription: "no text")
        }
        self.key = key
        value = try fields.decodeIfPresent(Base64Bytes.self, forKey: .value)?.value ?? []
        (created, modified) = (try integer(.created), try integer(.modified))
        let lease = try integer(.lease)
        self.lease = lease == 0 ? nil : lease
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

    /// What a message may contain. Fields that are zero, false or empty are absent.
    private struct Message: Decodable {
        struct Header: Decodable { var revision: WideInteger? }

        struct Range: Decodable { var kvs: [EtcdKeyValue]? }

        struct Response: Decodable {
            private enum CodingKeys: String, CodingKey { case range = "response_range" }

            var range: Range?
        }

        struct Event: Decodable {
            enum Kind: String, Decodable {
                case put = "PUT"
                case delete = "DELETE"
            }

            var type: Kind?
            var kv: EtcdKeyValue
        }

        private enum CodingKeys: String, CodingKey {
            case header, succeeded, responses, kvs, count, events, canceled
            case lease = "ID"
            case seconds = "TTL"
        }

        var header: Header?
        var lease, seconds, count: WideInteger?
        var succeeded, canceled: Bool?
        var responses: [Response]?
        var kvs: [EtcdKeyValue]?
        var events: [Event]?

        /// The store's revision, which every message has. No revision can follow the greatest integer, so that no store
        /// reports it.
        func revision() throws(Failure) -> Int64 {
            guard let revision = header?.revision?.value, (1..<Int64.max).contains(revision) else { throw .malformed }
            return revision
        }
    }

    /// The body of an answer: a message or an error. In a stream, the message is in the member `result`, and the error
    /// is an object. In other answers, the message is the whole body, and the error is a text.
    private struct Body: Decodable {
        private enum CodingKeys: String, CodingKey { case result, error, code, message }

        private enum ErrorKeys: String, CodingKey {
            case code = "grpc_code"
            case message
        }

        let message: Message
        let result: Message?
        let refusal: Failure?

        init(from decoder: any Decoder) throws {
            message = try Message(from: decoder)
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            result = try fields.decodeIfPresent(Message.self, forKey: .result)
            guard fields.contains(.error) else {
                refusal = nil
                return
            }
            let error = try? fields.nestedContainer(keyedBy: ErrorKeys.self, forKey: .error)
            let code =
                try error?.decodeIfPresent(Int64.self, forKey: .code)
                ?? fields.decodeIfPresent(Int64.self, forKey: .code)
            let text =
                try error?.decodeIfPresent(String.self, forKey: .message)
                ?? fields.decodeIfPresent(String.self, forKey: .message)
            refusal = .refused(
                code: code ?? 2, message: text ?? (try? fields.decode(String.self, forKey: .error)) ?? "")
        }
    }

    /// The greatest length of a body in bytes. A read of 10,000 channels has about 3 MB.
    package static let limit = 32 << 20

    /// The answer to a grant: the lease and its time in seconds.
    package static func grant(_ body: some Sequence<UInt8>) throws(Failure) -> (lease: Int64, seconds: Int64) {
        let message = try message(body)
        guard let lease = message.lease?.value, let seconds = message.seconds?.value, lease != 0, seconds > 0 else {
            throw .malformed
        }
        return (lease, seconds)
    }

    /// The answer to a keep-alive: the lease's time in seconds. A lease that has ended has no time; then this is nil.
    package static func keepAlive(_ body: some Sequence<UInt8>, lease: Int64) throws(Failure) -> Int64? {
        let message = try streamMessage(body)
        guard message.lease?.value == lease else { throw .malformed }
        return message.seconds.flatMap { $0.value > 0 ? $0.value : nil }
    }

    /// The answer to a revocation: the store's revision.
    package static func revoke(_ body: some Sequence<UInt8>) throws(Failure) -> Int64 { try message(body).revision() }

    /// The answer to a transaction.
    package static func transaction(_ body: some Sequence<UInt8>) throws(Failure) -> Transaction {
        let message = try message(body)
        let ranges = (message.responses ?? []).compactMap(\.range)
        guard ranges.allSatisfy({ $0.kvs?.count ?? 0 <= 1 }) else { throw .malformed }
        return Transaction(
            succeeded: message.succeeded == true, revision: try message.revision(), reads: ranges.map { $0.kvs?.first })
    }

    /// The answer to a range: the store's revision, the keys, and the number of all keys with the prefix.
    package static func range(
        _ body: some Sequence<UInt8>
    ) throws(Failure) -> (revision: Int64, keys: [EtcdKeyValue], count: Int) {
        let message = try message(body)
        let keys = message.kvs ?? []
        guard let count = Int(exactly: message.count?.value ?? 0), count >= keys.count else { throw .malformed }
        return (try message.revision(), keys, count)
    }

    /// A line of the body of a watch.
    package static func watchLine(_ line: some Sequence<UInt8>) throws(Failure) -> WatchLine {
        let message = try streamMessage(line)
        let changes = (message.events ?? []).map { event -> WatchLine.Change in
            switch event.type ?? .put {
            case .put: .put(event.kv)
            case .delete: .delete(key: event.kv.key, revision: event.kv.modified)
            }
        }
        let isCanceled = message.canceled == true
        let revision = isCanceled ? message.header?.revision?.value ?? 0 : try message.revision()
        return WatchLine(revision: revision, changes: changes, isCanceled: isCanceled)
    }

    private static func body(_ bytes: some Sequence<UInt8>) throws(Failure) -> Body {
        guard let body: Body = FleetJSON.value(of: bytes, limit: limit) else { throw .malformed }
        if let refusal = body.refusal { throw refusal }
        return body
    }

    private static func message(_ bytes: some Sequence<UInt8>) throws(Failure) -> Message { try body(bytes).message }

    private static func streamMessage(_ bytes: some Sequence<UInt8>) throws(Failure) -> Message {
        guard let message = try body(bytes).result else { throw .malformed }
        return message
    }
}

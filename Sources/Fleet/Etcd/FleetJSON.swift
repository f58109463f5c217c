// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Writes and reads the JSON of the fleet's entries. Other programs can write entries, too, so the length of what is
/// read is bounded.
enum FleetJSON {
    /// The value as JSON without spaces, members in the order of their names.
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts, integers, lists and objects can always be encoded.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The value that `bytes` contain; nil if there are more than `limit` bytes, or if they are not JSON of this type.
    static func value<Value: Decodable>(
        _ type: Value.Type = Value.self, of bytes: some Sequence<UInt8>, limit: Int
    ) -> Value? {
        let data = Data(bytes)
        return data.count <= limit ? try? JSONDecoder().decode(type, from: data) : nil
    }
}

/// An integer of 64 bits. Protocol Buffers write it as a text, and read both a text and a number.
struct WideInteger: Decodable {
    let value: Int64

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let text = try? container.decode(String.self) else {
            value = try container.decode(Int64.self)
            return
        }
        guard let value = Int64(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no integer of 64 bits")
        }
        self.value = value
    }
}

/// Bytes. Protocol Buffers write them as Base64 with padding (RFC 4648 §4).
struct Base64Bytes: Decodable {
    let value: [UInt8]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        // Foundation also reads texts that are no Base64, such as "====".
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no Base64")
        }
        value = Array(data)
    }
}

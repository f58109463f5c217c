// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import Networking
internal import Status

/// One delivery: an event as JSON, the host that sends it, and a signature.
struct WebhookMessage: Encodable {
    let event: ControlEvent
    /// This host's name.
    let host: String
    /// When the process started.
    let startedAt: UTCTime
    /// The number of events that were left out before this one.
    let leftOut: UInt64

    private enum Key: String, CodingKey { case source, host, startedAt, leftOut }

    func encode(to encoder: any Encoder) throws {
        try event.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode("relay", forKey: .source)
        try container.encode(host, forKey: .host)
        try container.encode(startedAt.extended, forKey: .startedAt)
        if leftOut > 0 { try container.encode(leftOut, forKey: .leftOut) }
    }

    /// Returns the request that delivers the event at `time`, signed with `secret`.
    func request(at time: UTCTime, secret: String?) -> HTTPClient.Request {
        let body = JSON.encode(self)
        let stamp = "\(time.milliseconds / 1000)"
        var headers = [("Content-Type", "application/json"), ("X-Relay-Timestamp", stamp)]
        if let secret, let signature = WebhookSignature.text(of: body, at: stamp, secret: secret) {
            headers.append(("X-Relay-Signature", signature))
        }
        return HTTPClient.Request("POST", headers: headers, body: body)
    }
}

/// The signature of a delivery, which proves that relay sent it. It consists of `sha256=` and the HMAC-SHA256, in
/// hexadecimal digits, of the timestamp, a dot and the body. The timestamp is signed, too, so that an attacker cannot
/// send an old delivery again as a new one.
enum WebhookSignature {
    /// Returns the signature; nil if memory is exhausted.
    static func text(of body: [UInt8], at stamp: String, secret: String) -> String? {
        HMAC.sha256(Array("\(stamp).".utf8) + body, key: Array(secret.utf8)).map { bytes in
            "sha256="
                + bytes.map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.count == 1 ? "0\(digits)" : digits
                }.joined()
        }
    }
}

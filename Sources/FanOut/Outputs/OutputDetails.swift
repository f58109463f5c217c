// SPDX-License-Identifier: Apache-2.0

package import Media

/// Numbers of an output that only some protocols have.
///
/// The numbers are encoded as one flat object. The names in this object are part of the API and do not change.
package struct OutputDetails: Sendable, Equatable {
    /// Numbers about the receivers of an output that listens.
    package struct Receivers: Sendable, Equatable {
        /// What connects to an output that listens.
        package enum Kind: Sendable, Equatable, CaseIterable {
            /// The receivers are SRT callers.
            case callers
            /// The receivers are RTMP players.
            case players
        }

        /// What connects to the output.
        package var kind: Kind
        /// The number of receivers that are connected now.
        package var count: Int
        /// The number of receivers that were accepted so far.
        package var total: Int
        /// The number of receivers that were rejected so far.
        package var refused: Int
        /// The duration of the media that waits to be sent to the slowest receiver.
        package var queueMilliseconds: Int64
        /// The number of frames that were missed by the connected receiver that missed the most.
        package var droppedFrames: Int

        /// Creates numbers about receivers of this kind.
        package init(
            _ kind: Kind, count: Int = 0, total: Int = 0, refused: Int = 0, queueMilliseconds: Int64 = 0,
            droppedFrames: Int = 0
        ) {
            (self.kind, self.count, self.total, self.refused) = (kind, count, total, refused)
            (self.queueMilliseconds, self.droppedFrames) = (queueMilliseconds, droppedFrames)
        }
    }

    /// The round-trip time of an RTMP connection, measured by the kernel, in milliseconds.
    package var connectionRoundTrip: Double?
    /// The receivers; nil if the output does not listen.
    package var receivers: Receivers?
    /// libsrt's statistics of an SRT output's connection, or of the connections of all callers together.
    package var srt: SRTStatistics?
    /// Numbers that only outputs of one kind have. The dictionary's keys are those of ``OutputNumber``.
    private var numbers: [String: Double] = [:]

    package init() {}

    /// Returns a number that only outputs of one kind have; nil if this output does not have it.
    package func value(of number: OutputNumber) -> Double? { numbers[number.key] }

    /// Sets a number that only outputs of one kind have.
    package mutating func set(_ number: OutputNumber, to value: Double) { numbers[number.key] = value }

    /// The connection's round-trip time in milliseconds; nil if the protocol does not report it, or before it was
    /// measured.
    package var roundTripMilliseconds: Double? { srt?.moment?.roundTripMilliseconds ?? connectionRoundTrip }
}

extension OutputDetails: Codable {
    private static let roundTrip = AnyCodingKey("rtt_ms")

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyCodingKey.self)
        receivers = try Receivers(from: decoder)
        if let totals = try? SRTStatistics.Totals(from: decoder) {
            var statistics = SRTStatistics()
            (statistics.totals, statistics.moment) = (totals, try? SRTStatistics.Moment(from: decoder))
            srt = statistics
        } else {
            connectionRoundTrip = try container.decodeIfPresent(Double.self, forKey: Self.roundTrip)
        }
        // Every key that is not in `known` is the key of a number that only outputs of one kind have.
        let known = Set(
            Receivers.allNames + [Self.roundTrip.stringValue] + SRTStatistics.Totals.names + SRTStatistics.Moment.names)
        for key in container.allKeys where !known.contains(key.stringValue) {
            numbers[key.stringValue] = try container.decode(Double.self, forKey: key)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyCodingKey.self)
        try container.encodeIfPresent(connectionRoundTrip, forKey: Self.roundTrip)
        for (key, number) in numbers { try container.encode(number, forKey: AnyCodingKey(key)) }
        try receivers?.encode(to: encoder)
        try srt?.totals.encode(to: encoder)
        try srt?.moment?.encode(to: encoder)
    }
}

extension OutputDetails.Receivers {
    /// The names under which the properties of ``OutputDetails/Receivers`` are encoded, in the order of the properties.
    private static func names(_ kind: Kind) -> [String] {
        switch kind {
        case .callers:
            ["callers", "callers_total", "callers_rejected_total", "caller_queue_ms", "caller_dropped_frames"]
        case .players:
            ["players", "players_total", "players_refused_total", "player_queue_ms", "player_dropped_frames"]
        }
    }

    private static func keys(_ kind: Kind) -> [AnyCodingKey] { names(kind).map { AnyCodingKey($0) } }

    /// The names of the properties for all kinds of receivers.
    fileprivate static var allNames: [String] { Kind.allCases.flatMap(names) }

    fileprivate init?(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyCodingKey.self)
        guard let kind = Kind.allCases.first(where: { container.contains(Self.keys($0)[0]) }) else { return nil }
        let numbers = try Self.keys(kind).map { try container.decode(Int64.self, forKey: $0) }
        self.init(
            kind, count: Int(numbers[0]), total: Int(numbers[1]), refused: Int(numbers[2]),
            queueMilliseconds: numbers[3], droppedFrames: Int(numbers[4]))
    }

    fileprivate func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyCodingKey.self)
        let numbers = [Int64(count), Int64(total), Int64(refused), queueMilliseconds, Int64(droppedFrames)]
        for (key, number) in zip(Self.keys(kind), numbers) { try container.encode(number, forKey: key) }
    }
}

/// Describes a number that only outputs of one kind have, in addition to the numbers that all outputs have.
package struct OutputNumber: Sendable, Hashable {
    /// The number's name in the status. It is part of the API and does not change.
    package let key: String
    /// The name of the number's Prometheus metric.
    package let metric: String
    /// What the number means, in one line.
    package let help: String
    /// Whether the number is a counter, which never decreases.
    package let isCounter: Bool

    /// Creates a number whose name in the status is `key`.
    package init(_ key: String, metric: String, _ help: String, isCounter: Bool = true) {
        (self.key, self.metric, self.help, self.isCounter) = (key, metric, help, isCounter)
    }
}

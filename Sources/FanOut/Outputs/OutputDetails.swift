// SPDX-License-Identifier: Apache-2.0

package import Media

/// Protocol-specific numbers of an output.
///
/// It is encoded as one flat object of numbers, under names that do not change.
package struct OutputDetails: Sendable, Equatable {
    /// The receivers of a listening output.
    package struct Receivers: Sendable, Equatable {
        /// The kind of receiver.
        package enum Kind: Sendable, Equatable, CaseIterable {
            /// SRT callers.
            case callers
            /// RTMP players.
            case players
        }

        /// The kind of receiver.
        package var kind: Kind
        /// Number of connected receivers.
        package var count: Int
        /// Number of receivers so far.
        package var total: Int
        /// Number of rejected receivers.
        package var refused: Int
        /// Duration of the media that waits for the slowest receiver.
        package var queueMilliseconds: Int64
        /// Frames missed by the connected receiver that has missed the most.
        package var droppedFrames: Int

        /// Creates the numbers for receivers of this kind.
        package init(
            _ kind: Kind, count: Int = 0, total: Int = 0, refused: Int = 0, queueMilliseconds: Int64 = 0,
            droppedFrames: Int = 0
        ) {
            (self.kind, self.count, self.total, self.refused) = (kind, count, total, refused)
            (self.queueMilliseconds, self.droppedFrames) = (queueMilliseconds, droppedFrames)
        }
    }

    /// The round-trip time of an RTMP connection in milliseconds, as the kernel measures it.
    package var connectionRoundTrip: Double?
    /// The receivers of an output that listens.
    package var receivers: Receivers?
    /// libsrt's statistics of the connection, or of all callers' connections.
    package var srt: SRTStatistics?
    /// Numbers that only outputs of one kind have, by the keys of ``OutputNumber``.
    private var numbers: [String: Double] = [:]

    package init() {}

    /// A number that only outputs of one kind have; nil if this output's kind does not have it.
    package subscript(number: OutputNumber) -> Double? {
        get { numbers[number.key] }
        set { numbers[number.key] = newValue }
    }

    /// The connection's round-trip time in milliseconds; nil if the protocol does not report it.
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
        // All keys except these are numbers of the output's kind.
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
    /// The names of the numbers, in the order of the properties.
    private static func names(_ kind: Kind) -> [String] {
        switch kind {
        case .callers:
            ["callers", "callers_total", "callers_rejected_total", "caller_queue_ms", "caller_dropped_frames"]
        case .players:
            ["players", "players_total", "players_refused_total", "player_queue_ms", "player_dropped_frames"]
        }
    }

    private static func keys(_ kind: Kind) -> [AnyCodingKey] { names(kind).map { AnyCodingKey($0) } }

    /// The names of the numbers of all kinds of receivers.
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

/// A number that only outputs of one kind have, in addition to the numbers of all outputs.
package struct OutputNumber: Sendable, Hashable {
    /// The number's name in the status, which does not change.
    package let key: String
    /// The name of the metric.
    package let metric: String
    /// What the number is, in one line.
    package let help: String
    /// Whether the number only increases.
    package let isCounter: Bool

    /// A number whose name in the status is `key`.
    package init(_ key: String, metric: String, _ help: String, isCounter: Bool = true) {
        (self.key, self.metric, self.help, self.isCounter) = (key, metric, help, isCounter)
    }
}

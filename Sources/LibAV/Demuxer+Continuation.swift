// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// The streams of a demuxer that are continued by streams which appeared after the input was opened.
struct StreamContinuations: Sendable {
    /// The selected streams; none until a caller selects some.
    var selected: Set<Int> = []
    /// For each stream that appeared after the input was opened and continues a selected stream: the index of the
    /// selected stream.
    private(set) var targets: [Int: Int] = [:]

    /// The selected stream `target`, and all later streams that continue it.
    func carriers(of target: Int) -> Set<Int> { Set(targets.filter { $0.value == target }.keys).union([target]) }

    /// Records that the stream `index` continues the stream `target`.
    mutating func note(_ index: Int, continues target: Int) { targets[index] = target }
}

extension Demuxer {
    /// The selected stream that is continued by the stream `index`, which appeared after the input was opened; nil if
    /// there is no such stream.
    ///
    /// A sender of MPEG-TS may give its tracks other PIDs in a new version of its program map (ISO/IEC 13818-1,
    /// 2.4.4.9), and libavformat makes a new stream for each new PID. A new stream continues a selected one if the map
    /// does not list the selected one any more, and both have the same codec and language, and the same rank among the
    /// streams of that codec and language. The decoder's configuration is read from the packets.
    func streamContinued(by index: Int) -> Int? {
        if let target = continuations.targets[index] { return target }
        guard mayJump, !continuations.selected.isEmpty, let coding = coding(of: index), coding.isInBand,
            kindOfLateStream(index, beside: continuations.selected) != nil
        else { return nil }
        let listed = Self.programs(of: context).map(\.streams)
        guard let late = listed.first(where: { $0.contains(index) }) else { return nil }
        let rank = late.sorted().filter { $0 >= openedStreams && self.coding(of: $0) == coding }.firstIndex(of: index)
        let current = listed.reduce(into: Set<Int>()) { $0.formUnion($1) }
        let target = continuations.selected.first { selected in
            self.coding(of: selected) == coding && rank == self.rank(of: selected, coding)
                && continuations.carriers(of: selected).isDisjoint(with: current)
        }
        guard let target, let pid = context.pointee.streams?[index]?.pointee.id else { return nil }
        continuations.note(index, continues: target)
        transportStream?.follow(also: Int(pid))
        return target
    }

    /// The position of the stream `index` among those streams of its program that have this `coding`. The programs are
    /// those found at opening.
    private func rank(of index: Int, _ coding: StreamCoding) -> Int? {
        let program = programs.first { $0.streams.contains(index) }
        return program?.streams.sorted().filter { self.coding(of: $0) == coding }.firstIndex(of: index)
    }

    private func coding(of index: Int) -> StreamCoding? {
        guard index < Int(context.pointee.nb_streams), let stream = context.pointee.streams?[index]?.pointee,
            let parameters = stream.codecpar, let base = stream.time_base.asTimeBase
        else { return nil }
        return StreamCoding(
            codec: parameters.pointee.codec_id.rawValue, language: stream.metadata.text("language"), timeBase: base)
    }
}

/// The properties that two streams of a transport stream have in common if one continues the other.
private struct StreamCoding: Equatable {
    let codec: UInt32
    let language: String?
    let timeBase: TimeBase

    /// Whether the packets carry the decoder's configuration. The configuration of Opus is in the program map.
    var isInBand: Bool { codec != AV_CODEC_ID_NONE.rawValue && codec != AV_CODEC_ID_OPUS.rawValue }
}

// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

// MARK: Programs

extension Demuxer {
    /// A program of a transport stream (ISO/IEC 13818-1, 2.4.4.8), or a variant of a playlist.
    package struct Program: Sendable {
        /// The program number; for a playlist, the variant's index from 0.
        package let number: Int
        /// The service's name; nil if it is missing, is longer than 40 characters, or has other characters than
        /// letters, digits and spaces.
        package let name: String?
        /// The indices of the program's streams.
        package let streams: Set<Int>
    }

    /// The audio stream that libavformat rates as the best match for `video`.
    package func bestAudio(beside video: StreamInfo?) -> StreamInfo? {
        guard let video, video.index != bestVideo?.index else { return bestAudio }
        let index = av_find_best_stream(context, AVMEDIA_TYPE_AUDIO, -1, Int32(video.index), nil, 0)
        return streams.first { $0.index == Int(index) }
    }

    /// Returns the kind of the stream `index` if this stream appeared after the input was opened and belongs to the
    /// same program as a stream in `read`; otherwise nil. libavformat creates a stream for each new PID in the program
    /// map table of a transport stream, and for the first packet of a track in FLV. If the programs of `read` have no
    /// streams any more, a program that is new since the opening takes their place.
    ///
    /// libavformat's option `merge_pmt_versions` cannot be used for this. It matches new streams to old ones by their
    /// position in the table, and ignores their kind: audio that is added before the video in the table would become
    /// video.
    package func kindOfLateStream(_ index: Int, beside read: Set<Int>) -> TrackKind? {
        guard index >= openedStreams, index < Int(context.pointee.nb_streams),
            let parameters = context.pointee.streams?[index]?.pointee.codecpar
        else { return nil }
        // Programs are compared by their numbers, because a new table moves streams out of their earlier program.
        let own = Set(programs.filter { !$0.streams.isDisjoint(with: read) }.map(\.number))
        let opened = Set(programs.map(\.number))
        let current = Self.programs(of: context)
        let isGone = current.allSatisfy { !own.contains($0.number) || $0.streams.isEmpty }
        // A format without programs, such as FLV, has one program: all its streams.
        let isPlain = opened.isEmpty && current.isEmpty
        guard
            isPlain
                || current.contains(where: {
                    $0.streams.contains(index)
                        && (own.contains($0.number) || (isGone && !opened.contains($0.number)))
                })
        else { return nil }
        switch parameters.pointee.codec_type {
        case AVMEDIA_TYPE_VIDEO: return .video
        case AVMEDIA_TYPE_AUDIO: return .audio
        default: return nil
        }
    }

    static func programs(of context: UnsafeMutablePointer<AVFormatContext>) -> [Program] {
        (0..<Int(context.pointee.nb_programs)).compactMap { place in
            guard let program = context.pointee.programs?[place]?.pointee else { return nil }
            let streams = (0..<Int(program.nb_stream_indexes)).compactMap { program.stream_index?[$0] }.map(Int.init)
            let name = program.metadata.text("service_name").flatMap { name in
                name.count <= 40 && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == " " } ? name : nil
            }
            return Program(number: Int(program.id), name: name, streams: Set(streams))
        }
    }
}

// MARK: Streams that continue others

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

// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

extension Demuxer {
    /// A program of a multiplex (ISO/IEC 13818-1, 2.4.4.8), or a variant of a playlist.
    package struct Program: Sendable {
        /// The number by which it is known: the program number, or the variant's place from 0.
        package let number: Int
        /// The service's name, if it is plain letters, digits and spaces.
        package let name: String?
        /// The numbers of its streams.
        package let streams: Set<Int>
    }

    /// The audio that libavformat considers best beside `video`.
    package func bestAudio(beside video: StreamInfo?) -> StreamInfo? {
        guard let video, video.index != bestVideo?.index else { return bestAudio }
        let index = av_find_best_stream(context, AVMEDIA_TYPE_AUDIO, -1, Int32(video.index), nil, 0)
        return streams.first { $0.index == Int(index) }
    }

    /// The kind of the stream `index`, if a program of the streams `read` got it after the input was opened: libavformat makes
    /// one for each PID that is new in a transport stream's map. Nil for all others. Where nothing is left of those programs,
    /// one that is new as a whole takes their place.
    ///
    /// Its option `merge_pmt_versions` would make them those of before, by their places in the map and whatever their kinds:
    /// audio that is added in front of the video becomes video.
    package func kindOfLateStream(_ index: Int, beside read: Set<Int>) -> TrackKind? {
        guard index >= openedStreams, index < Int(context.pointee.nb_streams),
            let parameters = context.pointee.streams?[index]?.pointee.codecpar
        else { return nil }
        // Programs are compared by number: a new map takes the streams of the one before from its program.
        let own = Set(programs.filter { !$0.streams.isDisjoint(with: read) }.map(\.number))
        let opened = Set(programs.map(\.number))
        let current = Self.programs(of: context)
        let isGone = current.allSatisfy { !own.contains($0.number) || $0.streams.isEmpty }
        guard
            current.contains(where: {
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

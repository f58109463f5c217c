// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

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

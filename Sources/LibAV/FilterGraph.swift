// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// A chain of libavfilter filters with one decoded input and one output; the owner of an `AVFilterGraph`.
final class FilterGraph {
    private let graph: UnsafeMutablePointer<AVFilterGraph>
    private let source: UnsafeMutablePointer<AVFilterContext>
    private let sink: UnsafeMutablePointer<AVFilterContext>
    private let subject: String

    /// A graph of `filters` for frames like `decoded`, whose pts count in `timeBase`.
    init(
        filters: String, like decoded: DecodedFrame, timeBase: TimeBase, subject: String
    ) throws(AVFailure) {
        let graph = try AVFailure.unwrap(avfilter_graph_alloc(), "allocate filters for", subject)
        // The encoder needs the other cores.
        graph.pointee.nb_threads = 2
        let ends: (source: UnsafeMutablePointer<AVFilterContext>, sink: UnsafeMutablePointer<AVFilterContext>)
        do {
            let shape = "video_size=\(decoded.width)x\(decoded.height):pix_fmt=\(decoded.frame.pointee.format)"
            let source = try Self.make(
                "buffer", "\(shape):time_base=\(timeBase.numerator)/\(timeBase.denominator)", in: graph, subject)
            ends = (source, try Self.make("buffersink", nil, in: graph, subject))
            try Self.connect(ends.source, ends.sink, by: filters, in: graph, subject)
        } catch {
            var owned: UnsafeMutablePointer<AVFilterGraph>? = graph
            avfilter_graph_free(&owned)
            throw error
        }
        // Only now: once every property is set, an error would run `deinit`, which frees the graph as well.
        self.graph = graph
        self.subject = subject
        (source, sink) = ends
    }

    deinit {
        var owned: UnsafeMutablePointer<AVFilterGraph>? = graph
        avfilter_graph_free(&owned)
    }

    /// The time base of the frames that come out.
    var timeBase: TimeBase? { av_buffersink_get_time_base(sink).asTimeBase }

    /// Puts a decoded in; nil says that none follows.
    func push(_ decoded: DecodedFrame?) throws(AVFailure) {
        let flags = Int32(AV_BUFFERSRC_FLAG_KEEP_REF)
        try AVFailure.check(
            av_buffersrc_add_frame_flags(source, decoded?.frame, flags), "convert frames of", subject)
    }

    /// Takes a decoded out, or nil when there is none now.
    func pull() throws(AVFailure) -> DecodedFrame? {
        let decoded = try DecodedFrame(subject: subject)
        let code = av_buffersink_get_frame(sink, decoded.frame)
        if code == relay_averror(EAGAIN) || code == relay_averror_eof { return nil }
        try AVFailure.check(code, "convert frames of", subject)
        return decoded
    }

    private static func make(
        _ name: String, _ arguments: String?, in graph: UnsafeMutablePointer<AVFilterGraph>, _ subject: String
    ) throws(AVFailure) -> UnsafeMutablePointer<AVFilterContext> {
        var context: UnsafeMutablePointer<AVFilterContext>?
        let filter = avfilter_get_by_name(name)
        let code = avfilter_graph_create_filter(&context, filter, name, arguments, nil, graph)
        try AVFailure.check(code, "create the filter \(name) for", subject)
        return try AVFailure.unwrap(context, "create the filter \(name) for", subject)
    }

    private static func connect(
        _ source: UnsafeMutablePointer<AVFilterContext>, _ sink: UnsafeMutablePointer<AVFilterContext>,
        by filters: String, in graph: UnsafeMutablePointer<AVFilterGraph>, _ subject: String
    ) throws(AVFailure) {
        // What is an output of our source is an input of the parsed chain, and the reverse.
        var outputs = avfilter_inout_alloc()
        var inputs = avfilter_inout_alloc()
        defer {
            avfilter_inout_free(&outputs)
            avfilter_inout_free(&inputs)
        }
        outputs?.pointee.name = av_strdup("in")
        outputs?.pointee.filter_ctx = source
        inputs?.pointee.name = av_strdup("out")
        inputs?.pointee.filter_ctx = sink
        let code = avfilter_graph_parse_ptr(graph, filters, &inputs, &outputs, nil)
        try AVFailure.check(code, "set up the filters \(filters) for", subject)
        try AVFailure.check(avfilter_graph_config(graph, nil), "set up the filters \(filters) for", subject)
    }
}

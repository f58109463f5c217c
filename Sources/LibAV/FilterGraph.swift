// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// A chain of libavfilter filters with one video input and one output; the owner of an `AVFilterGraph`.
final class FilterGraph {
    private let libavfilter: relay_avfilter
    private let graph: UnsafeMutablePointer<AVFilterGraph>
    private let source: UnsafeMutablePointer<AVFilterContext>
    private let sink: UnsafeMutablePointer<AVFilterContext>
    private let subject: String

    /// A graph of `filters` for frames like `decoded`, whose pts count in `timeBase`.
    init(
        filters: String, like decoded: DecodedFrame, timeBase: TimeBase, subject: String
    ) throws(AVFailure) {
        let libavfilter = try Self.load(subject)
        let graph = try AVFailure.unwrap(libavfilter.graph_alloc(), "allocate filters for", subject)
        // The encoder needs the other cores.
        graph.pointee.nb_threads = 2
        let ends: (source: UnsafeMutablePointer<AVFilterContext>, sink: UnsafeMutablePointer<AVFilterContext>)
        do {
            let shape = "video_size=\(decoded.width)x\(decoded.height):pix_fmt=\(decoded.frame.pointee.format)"
            let source = try libavfilter.make(
                "buffer", "\(shape):time_base=\(timeBase.numerator)/\(timeBase.denominator)", in: graph, subject)
            ends = (source, try libavfilter.make("buffersink", nil, in: graph, subject))
            try libavfilter.connect(ends.source, ends.sink, by: filters, in: graph, subject)
        } catch {
            var owned: UnsafeMutablePointer<AVFilterGraph>? = graph
            libavfilter.graph_free(&owned)
            throw error
        }
        // Only now: once every property is set, an error would run `deinit`, which frees the graph as well.
        self.libavfilter = libavfilter
        self.graph = graph
        self.subject = subject
        (source, sink) = ends
    }

    deinit {
        var owned: UnsafeMutablePointer<AVFilterGraph>? = graph
        libavfilter.graph_free(&owned)
    }

    /// The time base of the frames that come out.
    var timeBase: TimeBase? { libavfilter.buffersink_get_time_base(sink).asTimeBase }

    /// Puts a frame in; nil says that none follows.
    func push(_ decoded: DecodedFrame?) throws(AVFailure) {
        let flags = Int32(AV_BUFFERSRC_FLAG_KEEP_REF)
        try AVFailure.check(
            libavfilter.buffersrc_add_frame_flags(source, decoded?.frame, flags), "convert frames of", subject)
    }

    /// Takes a frame out, or nil when there is none now.
    func pull() throws(AVFailure) -> DecodedFrame? {
        let decoded = try DecodedFrame(subject: subject)
        let code = libavfilter.buffersink_get_frame(sink, decoded.frame)
        if code == relay_averror(EAGAIN) || code == relay_averror_eof { return nil }
        try AVFailure.check(code, "convert frames of", subject)
        return decoded
    }

    static func load(_ subject: String) throws(AVFailure) -> relay_avfilter {
        let table = UnsafeMutablePointer<relay_avfilter>.allocate(capacity: 1)
        defer { table.deallocate() }
        // All of it is written, or it fails.
        guard relay_load_avfilter(table) >= 0 else {
            throw AVFailure(
                operation: "convert frames of", subject: subject,
                missingLibrary: "libavfilter.so.\(LIBAVFILTER_VERSION_MAJOR)")
        }
        return table.pointee
    }
}

/// The steps of setting a graph up.
extension relay_avfilter {
    func make(
        _ name: String, _ arguments: String?, in graph: UnsafeMutablePointer<AVFilterGraph>, _ subject: String
    ) throws(AVFailure) -> UnsafeMutablePointer<AVFilterContext> {
        var context: UnsafeMutablePointer<AVFilterContext>?
        let code = graph_create_filter(&context, get_by_name(name), name, arguments, nil, graph)
        try AVFailure.check(code, "create the filter \(name) for", subject)
        return try AVFailure.unwrap(context, "create the filter \(name) for", subject)
    }

    func connect(
        _ source: UnsafeMutablePointer<AVFilterContext>, _ sink: UnsafeMutablePointer<AVFilterContext>,
        by filters: String, in graph: UnsafeMutablePointer<AVFilterGraph>, _ subject: String
    ) throws(AVFailure) {
        // What is an output of our source is an input of the parsed chain, and the reverse.
        var outputs = inout_alloc()
        var inputs = inout_alloc()
        defer {
            inout_free(&outputs)
            inout_free(&inputs)
        }
        outputs?.pointee.name = av_strdup("in")
        outputs?.pointee.filter_ctx = source
        inputs?.pointee.name = av_strdup("out")
        inputs?.pointee.filter_ctx = sink
        let code = graph_parse_ptr(graph, filters, &inputs, &outputs, nil)
        try AVFailure.check(code, "set up the filters \(filters) for", subject)
        try AVFailure.check(graph_config(graph, nil), "set up the filters \(filters) for", subject)
    }
}

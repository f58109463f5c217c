// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// A chain of libavfilter filters with one input and one output; owns an `AVFilterGraph`. Only one thread may use it at
/// a time.
final class FilterGraph {
    private let libavfilter: relay_avfilter
    private let graph: UnsafeMutablePointer<AVFilterGraph>
    private let source: UnsafeMutablePointer<AVFilterContext>
    private let sink: UnsafeMutablePointer<AVFilterContext>
    /// What the graph does, and with which input; for error messages.
    private let (operation, subject): (String, String)

    /// Creates a graph of `filters` for frames like `decoded`, with pts in `timeBase`.
    convenience init(
        filters: String, like decoded: DecodedFrame, timeBase: TimeBase, subject: String
    ) throws(AVFailure) {
        // Only two threads, because the encoder needs the other cores.
        try self.init(
            filters, from: "buffer", to: "buffersink", threads: 2,
            input: "video_size=\(decoded.width)x\(decoded.height):pix_fmt=\(decoded.frame.pointee.format)"
                + ":time_base=\(timeBase.numerator)/\(timeBase.denominator)",
            operation: "convert frames of", subject: subject)
    }

    /// Creates a graph of `filters` between libavfilter's source and sink of these names. `input` describes the input
    /// frames.
    init(
        _ filters: String, from sourceName: String, to sinkName: String, threads: Int32, input: String,
        operation: String, subject: String
    ) throws(AVFailure) {
        let libavfilter = try Self.load(operation, subject)
        let graph = try AVFailure.unwrap(libavfilter.graph_alloc(), "allocate filters for", subject)
        graph.pointee.nb_threads = threads
        let ends: (source: UnsafeMutablePointer<AVFilterContext>, sink: UnsafeMutablePointer<AVFilterContext>)
        do {
            let source = try libavfilter.make(sourceName, input, in: graph, subject)
            ends = (source, try libavfilter.make(sinkName, nil, in: graph, subject))
            try libavfilter.connect(ends.source, ends.sink, by: filters, in: graph, subject)
        } catch {
            var owned: UnsafeMutablePointer<AVFilterGraph>? = graph
            libavfilter.graph_free(&owned)
            throw error
        }
        // The properties are set last. Once all of them are set, an error would run `deinit`, which would free the
        // graph a second time.
        self.libavfilter = libavfilter
        self.graph = graph
        (self.operation, self.subject) = (operation, subject)
        (source, sink) = ends
    }

    deinit {
        var owned: UnsafeMutablePointer<AVFilterGraph>? = graph
        libavfilter.graph_free(&owned)
    }

    /// The time base of the output frames.
    var timeBase: TimeBase? { libavfilter.buffersink_get_time_base(sink).asTimeBase }

    /// Sends a frame; nil ends the input. If `keeps` is false, the call takes the content out of the caller's frame.
    func push(_ decoded: DecodedFrame?, keeps: Bool = true) throws(AVFailure) {
        let flags = keeps ? Int32(AV_BUFFERSRC_FLAG_KEEP_REF) : 0
        try AVFailure.check(libavfilter.buffersrc_add_frame_flags(source, decoded?.frame, flags), operation, subject)
    }

    /// Returns a frame; nil if none is ready.
    func pull() throws(AVFailure) -> DecodedFrame? {
        let decoded = try DecodedFrame(subject: subject)
        let code = libavfilter.buffersink_get_frame(sink, decoded.frame)
        if code == relay_averror(EAGAIN) || code == relay_averror_eof { return nil }
        try AVFailure.check(code, operation, subject)
        return decoded
    }

    /// Whether libavfilter can be loaded and has all filters in `names`.
    static func has(_ names: [String]) -> Bool {
        guard let libavfilter = try? load("find filters of", "libavfilter") else { return false }
        return names.allSatisfy { libavfilter.get_by_name($0) != nil }
    }

    private static func load(_ operation: String, _ subject: String) throws(AVFailure) -> relay_avfilter {
        let table = UnsafeMutablePointer<relay_avfilter>.allocate(capacity: 1)
        defer { table.deallocate() }
        // `relay_load_avfilter` either fills the whole table or fails.
        guard relay_load_avfilter(table) >= 0 else {
            throw AVFailure(
                operation: operation, subject: subject, missingLibrary: "libavfilter.so.\(LIBAVFILTER_VERSION_MAJOR)")
        }
        return table.pointee
    }
}

/// The steps by which ``FilterGraph`` sets up a graph.
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
        // libavfilter's names: `outputs` are the open outputs before the chain that is parsed, and `inputs` are the
        // open inputs after it.
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

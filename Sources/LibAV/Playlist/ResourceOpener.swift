// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Opens what a demuxer needs besides its own address, such as the segments of a playlist, in place of libavformat's
/// own function (`io_open`). Only the demuxer's thread may use it.
///
/// HTTP headers that an operator added can be secret, and a playlist can name segments of any server. So these headers
/// are sent only to the server of the input's address. If there are `initializations`, they examine the initialization
/// sections of an HLS playlist.
final class ResourceOpener {
    /// The type of libavformat's function.
    private typealias Function =
        @convention(c) (
            UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?,
            UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<OpaquePointer?>?
        ) -> Int32

    /// The server to which the option `headers` belongs; nil without that option.
    private let server: ServerAddress?
    /// Finds the segments of a playlist that are coded in another way; nil for other inputs.
    let initializations: InitializationWatch?
    /// libavformat's own function.
    private var original: Function?

    /// Creates an opener for the input at `url`; nil if libavformat's own function is enough.
    init?(_ url: String, _ options: Demuxer.Options) {
        server = options.values["headers"] == nil ? nil : ServerAddress(url)
        initializations = options.endsAtInitialization ? InitializationWatch() : nil
        if server == nil, initializations == nil { return nil }
    }

    /// Makes `context`, which is not open yet, open its resources through this object. The object must live as long as
    /// the context.
    func install(in context: UnsafeMutablePointer<AVFormatContext>) {
        original = context.pointee.io_open
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
        context.pointee.io_open = { context, opened, url, flags, options in
            guard let context, let opened, let url, let opaque = context.pointee.opaque else {
                return relay_averror(EINVAL)
            }
            let opener = Unmanaged<ResourceOpener>.fromOpaque(opaque).takeUnretainedValue()
            return opener.open(context, opened, url, flags, options)
        }
    }

    private func open(
        _ context: UnsafeMutablePointer<AVFormatContext>,
        _ opened: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>, _ url: UnsafePointer<CChar>,
        _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        guard let original else { return relay_averror(EINVAL) }
        if let server, let options, !server.mayGetHeaders(at: String(cString: url)) {
            av_dict_set(options, "headers", nil, 0)
        }
        // The playlist itself is opened before the format is known.
        guard let initializations, context.pointee.iformat != nil,
            Demuxer.formatName(of: context).split(separator: ",").contains("hls")
        else { return original(context, opened, url, flags, options) }
        return initializations.open(opened, url, options) { original(context, opened, url, flags, $0) }
    }
}

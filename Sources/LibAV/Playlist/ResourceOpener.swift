// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Opens what a demuxer needs besides its own address, such as the segments of a playlist, in place of libavformat's
/// own function (`io_open`). Only the demuxer's thread may use it.
///
/// HTTP headers that an operator added can be secret, and a playlist can name segments of any server. So these headers
/// are sent only to the server of the input's address, and not to another server to which that server redirects. If
/// there are `initializations`, they examine the initialization sections of an HLS playlist.
final class ResourceOpener {
    /// The type of libavformat's function `io_open`.
    private typealias Function =
        @convention(c) (
            UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?,
            UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<OpaquePointer?>?
        ) -> Int32

    /// The server to which the option `headers` belongs; nil without that option.
    private let server: ServerAddress?
    /// See ``Demuxer/Options/redirection``.
    private let redirection: (@Sendable (_ url: String, Interrupter) -> (url: String, keepsHeaders: Bool)?)?
    private let interrupter: Interrupter
    /// Finds the segments of a playlist that are coded in another way; nil for other inputs.
    let initializations: InitializationWatch?
    /// libavformat's own function `io_open`; nil before ``install(in:)``.
    private var original: Function?

    /// Creates an opener for the input at `url`; nil if libavformat's own function is enough.
    init?(_ url: String, _ options: Demuxer.Options, _ interrupter: Interrupter) {
        (redirection, self.interrupter) = (options.redirection, interrupter)
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
        // The playlist itself is opened before the format is known, so `initializations` gets only the resources that
        // it names.
        guard let initializations, context.pointee.iformat != nil,
            Demuxer.formatName(of: context).split(separator: ",").contains("hls")
        else { return fetch(context, opened, url, flags, options) }
        return initializations.open(context, opened, url, options) { fetch(context, opened, url, flags, $0) }
    }

    /// Opens the resource with libavformat's own function, with headers only for the servers that may get them.
    private func fetch(
        _ context: UnsafeMutablePointer<AVFormatContext>,
        _ opened: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>, _ url: UnsafePointer<CChar>,
        _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        guard let original else { return relay_averror(EINVAL) }
        guard let server, let options else { return original(context, opened, url, flags, options) }
        let address = String(cString: url)
        guard server.mayGetHeaders(at: address) else {
            av_dict_set(options, "headers", nil, 0)
            return original(context, opened, url, flags, options)
        }
        // The input's own address is opened before the format is known, and its redirections have already been
        // followed.
        guard context.pointee.iformat != nil, let found = redirection?(address, interrupter) else {
            return original(context, opened, url, flags, options)
        }
        if !found.keepsHeaders { av_dict_set(options, "headers", nil, 0) }
        return found.url.withCString { original(context, opened, $0, flags, options) }
    }
}

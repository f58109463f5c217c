// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// The address of an initialization section in a playlist (RFC 8216, 4.3.2.5).
package struct InitializationAddress: Sendable, Hashable {
    /// The absolute URL. It can contain secrets, so it must not be logged.
    package let url: String
    /// The offset of the section in the resource, in bytes; nil if the section is the whole resource.
    package let offset: Int64?

    /// The address of the section at `offset` in the resource `url`.
    package init(url: String, offset: Int64?) { (self.url, self.offset) = (url, offset) }
}

/// Ends a live HLS playlist of fragmented MP4 before the first segment that is coded in another way, so that a new
/// demuxer can continue there.
///
/// libavformat's `hls` demuxer passes each new initialization section to the demuxer of the segments, which keeps the
/// first section and skips the others. The segments after a change, for example those of an advertisement, would then
/// be decoded with the wrong configuration. This object reads the initialization sections of the playlist itself,
/// before libavformat gets them. Only the demuxer's thread may use it.
final class InitializationWatch {
    /// The maximum number of bytes that libavformat reads of an initialization section (`max_init_section_size` in
    /// `hls.c`).
    private static let longestSection = 1 << 20
    /// The types of the boxes with which an initialization section can begin. Segments of a playlist begin with other
    /// boxes (RFC 8216, 3.3).
    private static let firstBoxes = [Array("ftyp".utf8), Array("moov".utf8)]

    /// The initialization section that the demuxer of each media playlist keeps: the first section of that playlist.
    /// The key is the address of the variable into which libavformat opens resources of the media playlist; each media
    /// playlist has its own variable.
    private var kept: [UnsafeRawPointer: InitializationSection] = [:]

    /// The initialization section at which each media playlist has ended. libavformat requests this section again and
    /// again.
    private var ends: [UnsafeRawPointer: InitializationAddress] = [:]

    /// The initialization sections at which media playlists have ended for this demuxer; empty as long as none has
    /// ended.
    private(set) var refused: [InitializationAddress] = []

    /// Regards all media playlists as not ended. While libavformat opens and probes the input, it reads ahead, and
    /// media playlists may end that are not read later. When libavformat has returned all packets in front of a refused
    /// section, it requests that section again.
    func forgetRefusals() { refused = [] }

    /// Opens the resource at `url` of the playlist `context` into `opened`. `fetch` opens it with the options that it
    /// is given, as libavformat does. Returns libavformat's status code.
    func open(
        _ context: UnsafeMutablePointer<AVFormatContext>,
        _ opened: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>, _ url: UnsafePointer<CChar>,
        _ options: UnsafeMutablePointer<OpaquePointer?>?, _ fetch: (UnsafeMutablePointer<OpaquePointer?>?) -> Int32
    ) -> Int32 {
        // libavformat removes the options that it has used, so a second call of `fetch` needs a copy.
        var copy: OpaquePointer?
        defer { av_dict_free(&copy) }
        av_dict_copy(&copy, options?.pointee, 0)
        let list = UnsafeRawPointer(opened)
        let offset = av_dict_get(copy, "offset", nil, 0)?.pointee.value.map { String(cString: $0) }
        let address = InitializationAddress(url: String(cString: url), offset: offset.flatMap { Int64($0) })
        if ends[list] == address { return refuse(address) }
        let code = fetch(options)
        guard code >= 0, let resource = opened.pointee, Self.isSection(resource) else { return code }
        guard let bytes = Self.content(of: resource) else {
            // The resource is too long, so it is a segment that begins like an initialization section; or it cannot be
            // read.
            avio_closep(opened)
            return fetch(&copy)
        }
        avio_closep(opened)
        if let section = InitializationSection(bytes), !isFitting(section, of: list, in: context) {
            ends[list] = address
            return refuse(address)
        }
        return Self.open(bytes, opened)
    }

    /// Records that a media playlist ends at the initialization section at `address`. Returns libavformat's status
    /// code.
    private func refuse(_ address: InitializationAddress) -> Int32 {
        if !refused.contains(address) { refused.append(address) }
        return relay_averror_eof
    }

    /// Whether the demuxer of the media playlist `list` can read the segments that need `section`. Always true for a
    /// playlist that is not live, because it is read to its end: libavformat knows its duration before it opens the
    /// first section.
    private func isFitting(
        _ section: InitializationSection, of list: UnsafeRawPointer, in context: UnsafeMutablePointer<AVFormatContext>
    ) -> Bool {
        guard context.pointee.duration.asTimestamp == nil, let hls = context.pointee.priv_data else { return true }
        if let first = kept[list] { return first == section }
        kept[list] = section
        // On a connection that is kept open, libavformat's `hls` demuxer requests the next resource without the
        // function that ``ResourceOpener`` replaces. So connections are not kept open.
        av_opt_set_int(hls, "http_persistent", 0, 0)
        return true
    }

    /// Whether `resource`, of which nothing was read yet, begins like an initialization section. The read position of
    /// `resource` stays the same.
    private static func isSection(_ resource: UnsafeMutablePointer<AVIOContext>) -> Bool {
        var start = [UInt8](repeating: 0, count: 8)
        let count = avio_read_partial(resource, &start, Int32(start.count))
        // The bytes are still in the buffer, so skipping back sends no request.
        guard count > 0, avio_skip(resource, -Int64(count)) >= 0 else { return false }
        return count == 8 && firstBoxes.contains(Array(start[4...]))
    }

    /// The whole content of `resource`; nil if it is too long for an initialization section, or cannot be read.
    private static func content(of resource: UnsafeMutablePointer<AVIOContext>) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: longestSection)
        let count = Int(avio_read(resource, &bytes, Int32(bytes.count)))
        guard count > 0, count < bytes.count, resource.pointee.error == 0 else { return nil }
        return Array(bytes.prefix(count))
    }

    /// Opens `bytes` as a resource, in place of the one that was read. Returns libavformat's status code.
    private static func open(
        _ bytes: [UInt8], _ opened: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>
    ) -> Int32 {
        var text = [CChar](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        guard av_base64_encode(&text, Int32(text.count), bytes, Int32(bytes.count)) != nil else {
            return relay_averror(ENOMEM)
        }
        let encoded = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return avio_open2(opened, "data:video/mp4;base64," + encoded, AVIO_FLAG_READ, nil, nil)
    }
}

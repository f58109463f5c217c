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
    /// The box with which an initialization section begins. Segments of a playlist begin with other boxes (RFC 8216,
    /// 3.3).
    private static let firstBoxes = [Array("ftyp".utf8), Array("moov".utf8)]

    /// The section that the demuxer of each list keeps: the first one of the list. The key is the address of the
    /// variable into which libavformat opens the sections of the list; each list has its own.
    private var kept: [UnsafeRawPointer: InitializationSection] = [:]

    /// The section at which each list has ended. libavformat asks for it again and again.
    private var ends: [UnsafeRawPointer: InitializationAddress] = [:]

    /// The sections at which lists of the playlist have ended for this demuxer; empty as long as none has ended.
    private(set) var refused: [InitializationAddress] = []

    /// Regards all lists as not ended. While libavformat opens and probes the playlist it reads ahead, and it may end
    /// lists that are not read later. It asks again for a section that was refused when it has returned all packets in
    /// front of it.
    func forgetRefusals() { refused = [] }

    /// Opens the resource at `url` of the playlist `context` into `opened`. `fetch` opens a resource with these options,
    /// as libavformat does. Returns libavformat's status code.
    func open(
        _ context: UnsafeMutablePointer<AVFormatContext>,
        _ opened: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>, _ url: UnsafePointer<CChar>,
        _ options: UnsafeMutablePointer<OpaquePointer?>?, _ fetch: (UnsafeMutablePointer<OpaquePointer?>?) -> Int32
    ) -> Int32 {
        // libavformat removes the options that it has used.
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
            // The resource is too long: it is a segment that begins like an initialization section.
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

    /// Records that a list ends at the section at `address`. Returns libavformat's status code.
    private func refuse(_ address: InitializationAddress) -> Int32 {
        if !refused.contains(address) { refused.append(address) }
        return relay_averror_eof
    }

    /// Whether the demuxer of `list` can read the segments that need `section`. A playlist that has ended is not live, and
    /// is read to its end: libavformat knows its duration before it opens the first section.
    private func isFitting(
        _ section: InitializationSection, of list: UnsafeRawPointer, in context: UnsafeMutablePointer<AVFormatContext>
    ) -> Bool {
        guard context.pointee.duration.asTimestamp == nil, let hls = context.pointee.priv_data else { return true }
        if let first = kept[list] { return first == section }
        kept[list] = section
        // On a connection that is kept open, `hls` requests the next resource without the function that
        // ``ResourceOpener`` replaces.
        av_opt_set_int(hls, "http_persistent", 0, 0)
        return true
    }

    /// Whether `resource`, of which nothing was read yet, begins like an initialization section. Its position stays the
    /// same.
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

    /// Opens `bytes` as a resource. Returns libavformat's status code.
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

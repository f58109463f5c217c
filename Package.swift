// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackageDescription

/// Continuous integration turns warnings into errors; a user's build with another compiler does not.
let warnings: [SwiftSetting] =
    ProcessInfo.processInfo.environment["RELAY_WARNINGS_AS_ERRORS"] == nil
    ? [] : [.unsafeFlags(["-warnings-as-errors"])]

let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + warnings

/// Tests are compiled without the optimiser, which takes most of a build's time and has nothing to do there: what they
/// test is optimised.
let testSettings = settings + [.unsafeFlags(["-Onone"])]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let package = Package(
    name: "relay",
    products: [
        .executable(name: "relay", targets: ["Relay"]),
        .executable(name: "relay-fanout-bench", targets: ["FanOutBench"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", exact: "1.35.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2", traits: []),
    ],
    targets: [
        .systemLibrary(
            name: "CRTMP", path: "Sources/System/CRTMP", pkgConfig: "librtmp", providers: [.apt(["librtmp-dev"])]),
        .systemLibrary(
            name: "CSRT", path: "Sources/System/CSRT", pkgConfig: "srt", providers: [.apt(["libsrt-gnutls-dev"])]),
        .systemLibrary(
            name: "CX264", path: "Sources/System/CX264", pkgConfig: "x264", providers: [.apt(["libx264-dev"])]),
        .systemLibrary(
            name: "CFFmpeg", path: "Sources/System/CFFmpeg",
            pkgConfig: "libavformat",
            providers: [.apt(["libavdevice-dev", "libavfilter-dev", "libavformat-dev", "libavcodec-dev"])]),

        .systemLibrary(name: "CLinux", path: "Sources/System/CLinux"),

        .target(name: "Media", swiftSettings: settings),
        .target(name: "LibAV", dependencies: ["Media", "CFFmpeg"], swiftSettings: settings),
        .target(
            name: "FanOut",
            dependencies: ["Media", .product(name: "DequeModule", package: "swift-collections"), logging],
            swiftSettings: settings),
        .target(name: "SourceClock", dependencies: ["Media"], swiftSettings: settings),
        .target(name: "Kernels", dependencies: ["Media"], swiftSettings: settings),
        .target(name: "Fleet", dependencies: ["Media"], swiftSettings: settings),
        .target(name: "Program", dependencies: ["Media", "Kernels", logging], swiftSettings: settings),
        .target(
            name: "Monitor",
            dependencies: ["Media", "LibAV", .product(name: "DequeModule", package: "swift-collections"), logging],
            swiftSettings: settings),
        .target(
            name: "Encoder", dependencies: ["Media", "LibAV", "CLinux", "CX264", logging], swiftSettings: settings),
        .target(
            name: "Ingest",
            dependencies: [
                "Media", "SourceClock", "LibAV", "Networking", "RTMP", "SRT", "CLinux",
                .product(name: "DequeModule", package: "swift-collections"), logging,
            ],
            swiftSettings: settings),
        .target(
            name: "Networking",
            dependencies: [
                "Media", "CLinux", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings),
        .target(name: "MP4", dependencies: ["Media"], swiftSettings: settings),
        .target(name: "Archive", dependencies: ["Media", "MP4", "CLinux"], swiftSettings: settings),
        .target(
            name: "RTMP",
            dependencies: [
                "Media", "Networking", "LibAV", "CRTMP", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
        .target(name: "SRT", dependencies: ["Media", "Networking", "CSRT"], swiftSettings: settings),
        .target(name: "HLS", dependencies: ["Media", "Networking", "LibAV"], swiftSettings: settings),
        .target(
            name: "Publisher",
            dependencies: [
                "Media", "FanOut", "LibAV", "Networking", "RTMP", "SRT", "HLS", "Archive",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "Segmenter",
            dependencies: [
                "Media", "FanOut", "LibAV", "MP4", "Archive",
                .product(name: "DequeModule", package: "swift-collections"), logging,
            ],
            swiftSettings: settings),
        .target(
            name: "Catalogue",
            dependencies: [
                "Media", "LibAV", "MP4", "Archive", "Segmenter", .product(name: "GRDB", package: "GRDB.swift"), logging,
            ],
            swiftSettings: settings),
        .target(
            name: "Stitcher", dependencies: ["Media", "LibAV", "Encoder", "Kernels", "MP4", "Archive"],
            swiftSettings: settings),
        .target(
            name: "Upload",
            dependencies: [
                "Media", "Archive", "Segmenter", "Catalogue", .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"), logging,
            ],
            swiftSettings: settings),
        .target(
            name: "Status",
            dependencies: [
                "Media", "Archive", "FanOut", "Ingest", "Program", "Monitor", "Encoder", "Segmenter", "Upload",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "Studio",
            dependencies: [
                "Media", "LibAV", "Networking", "Archive", "Kernels", "Program", "Ingest", "Catalogue",
                "Status",
                .product(name: "Yams", package: "Yams"), logging,
            ],
            swiftSettings: settings),
        .target(
            name: "Channel",
            dependencies: [
                "Media", "LibAV", "Networking", "RTMP", "FanOut", "Encoder", "Archive", "SourceClock", "Ingest",
                "Kernels",
                "Program", "Monitor", "Publisher", "Segmenter", "Catalogue", "Upload", "Status", "Studio",
                logging,
            ],
            swiftSettings: settings),
        .target(
            name: "Library",
            dependencies: [
                "HLS", "Media", "LibAV", "Networking", "MP4", "Encoder", "Archive", "Kernels", "Program", "Segmenter",
                "Catalogue", "Stitcher", "Studio", logging,
            ],
            swiftSettings: settings),
        .target(name: "Page", exclude: ["Files", "openapi.json"]),
        .target(
            name: "Control",
            dependencies: [
                "Library", "Studio", "Status", "Media", "LibAV", "Networking", "MP4", "Archive", "FanOut",
                "SourceClock", "Ingest",
                "Program", "Monitor", "Encoder", "Publisher", "Segmenter", "Upload", "SRT", "Page",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                logging,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "Relay",
            dependencies: [
                "Control", "Library", "Channel", "Studio", "Status", "Media", "LibAV", "Ingest",
                "Kernels", "Program", "Monitor",
                "Encoder", "FanOut",
                "Networking", "RTMP", "SRT", "Publisher", "MP4", "Archive", "Segmenter", "Catalogue", "Stitcher",
                "Upload", "CLinux",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                logging,
            ],
            swiftSettings: settings),
        // Measures; `scripts/bench fanout` builds and runs it. Not installed.
        .executableTarget(
            name: "FanOutBench",
            dependencies: [
                "Media", "LibAV", "FanOut", "Networking", "RTMP", "Publisher",
                .product(name: "ArgumentParser", package: "swift-argument-parser"), logging,
            ],
            path: "Benchmarks/FanOutBench",
            swiftSettings: settings),
        .executableTarget(
            name: "RecorderBench", dependencies: ["Media", "FanOut", "Archive", "Segmenter", logging],
            path: "Benchmarks/RecorderBench", swiftSettings: settings),
        .executableTarget(
            name: "ProgramBench", dependencies: ["Media", "Kernels", "Program"], path: "Benchmarks/ProgramBench",
            swiftSettings: settings),

        // What tests of several targets need: a clock, waits with a deadline, random numbers to have again, a log to read.
        .target(
            name: "TestSupport", dependencies: ["Media", "CLinux", logging], path: "Tests/TestSupport",
            swiftSettings: testSettings),
        .testTarget(name: "MediaTests", dependencies: ["Media", "TestSupport"], swiftSettings: testSettings),
        .testTarget(
            name: "LibAVTests", dependencies: ["LibAV", "Media", "PacketSamples", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "IngestTests",
            dependencies: [
                "Ingest", "SourceClock", "LibAV", "CFFmpeg", "CLinux", "Media", "Program", "RTMP", "SRT",
                "PacketSamples",
                "TestSupport", logging,
            ],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "SourceClockTests", dependencies: ["SourceClock", "Media", "Program", "TestSupport"],
            exclude: ["Traces"], swiftSettings: testSettings),
        .testTarget(
            name: "FanOutTests", dependencies: ["FanOut", "Media", "Publisher", "TestSupport", logging],
            swiftSettings: testSettings),
        .testTarget(
            name: "FleetTests", dependencies: ["Fleet", "Media", "TestSupport"], swiftSettings: testSettings),
        .testTarget(name: "FanOutBenchTests", dependencies: ["FanOutBench", "Media"], swiftSettings: testSettings),
        // Frames as plain arrays, for references that are slow and obvious.
        .target(
            name: "FrameSamples", dependencies: ["Media", "Kernels", "TestSupport"], path: "Tests/FrameSamples",
            swiftSettings: testSettings),
        .testTarget(
            name: "KernelsTests", dependencies: ["Kernels", "Media", "FrameSamples", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "ProgramTests",
            dependencies: ["Program", "Kernels", "Media", "FrameSamples", "TestSupport", logging],
            swiftSettings: testSettings),
        .testTarget(
            name: "EncoderTests", dependencies: ["Encoder", "LibAV", "Media", "PacketSamples", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "MonitorTests", dependencies: ["Monitor", "LibAV", "Media", "TestSupport", logging],
            swiftSettings: testSettings),
        // Streams and packets that several targets' tests send.
        .target(
            name: "PacketSamples", dependencies: ["Media", "LibAV"], path: "Tests/PacketSamples",
            swiftSettings: testSettings),
        // Certificates that several targets' tests show.
        .target(name: "TLSSamples", path: "Tests/TLSSamples", swiftSettings: testSettings),
        .testTarget(
            name: "NetworkingTests",
            dependencies: [
                "Networking", "CLinux", "Media", "TLSSamples", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"), .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "RTMPTests",
            dependencies: [
                "RTMP", "Networking", "CLinux", "Media", "PacketSamples", "TLSSamples", "TestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "SRTTests",
            dependencies: ["SRT", "CSRT", "Networking", "Media", "PacketSamples", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "HLSTests", dependencies: ["HLS", "Networking", "Media", "PacketSamples", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "PublisherTests",
            dependencies: [
                "Publisher", "FanOut", "Networking", "RTMP", "SRT", "HLS", "LibAV", "Media", "CSRT", "PacketSamples",
                "TestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "SegmenterTests",
            dependencies: ["Segmenter", "Archive", "MP4", "Media", "FanOut", "PacketSamples", "TestSupport", logging],
            swiftSettings: testSettings),
        .testTarget(name: "MP4Tests", dependencies: ["MP4", "Media"], swiftSettings: testSettings),
        // A recording's file made without a recorder.
        .target(
            name: "RecordingSamples", dependencies: ["Archive", "MP4", "Media"], path: "Tests/RecordingSamples",
            swiftSettings: testSettings),
        .testTarget(
            name: "ArchiveTests", dependencies: ["Archive", "MP4", "Media", "RecordingSamples", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "CatalogueTests",
            dependencies: [
                "Catalogue", "Archive", "MP4", "Segmenter", "Media", "RecordingSamples", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"), logging,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "StitcherTests",
            dependencies: [
                "Stitcher", "Archive", "MP4", "Media", "LibAV", "Kernels", "RecordingSamples", "TestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "StudioTests",
            dependencies: [
                "Catalogue", "Ingest", "Kernels", "Media", "Program", "Status", "Studio", "TestSupport", logging,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "ChannelTests",
            dependencies: [
                "Archive", "Catalogue", "Segmenter", "Studio", "Channel", "Encoder", "FanOut", "Ingest", "Kernels",
                "Media", "Program", "Publisher", "RecordingSamples", "RTMP", "SourceClock", "Status", "TestSupport",
                "Upload", logging,
            ], swiftSettings: testSettings),
        .testTarget(
            name: "LibraryTests",
            dependencies: [
                "Archive", "Catalogue", "Kernels", "Library", "MP4", "Media", "PacketSamples", "RecordingSamples",
                "Segmenter", "Stitcher", "Studio", "TestSupport", "Upload",
            ], swiftSettings: testSettings),
        .testTarget(
            name: "StatusTests",
            dependencies: [
                "Status", "Archive", "Encoder", "FanOut", "Ingest", "Media", "Monitor", "Page", "Program", "Segmenter",
                "TestSupport", "Upload",
            ], swiftSettings: testSettings),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "Studio", "Library", "Control", "Status", "Archive", "Encoder", "FanOut", "Ingest", "Kernels", "MP4",
                "Media", "Monitor", "Networking", "PacketSamples", "Program", "SRT", "Segmenter", "TestSupport",
                "Upload",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"), logging,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "UploadTests",
            dependencies: [
                "Upload", "Catalogue", "Archive", "Media", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Studio", "Library", "Channel", "Relay", "Control", "Status", "Encoder", "FanOut", "Ingest", "Kernels",
                "Media",
                "Monitor",
                "Networking",
                "Program", "Publisher", "SRT", "Archive", "Segmenter", "Catalogue", "Stitcher", "RecordingSamples",
                "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"), logging,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "EndToEnd",
            dependencies: [
                "Channel", "Relay", "Control", "Status", "FanOut", "Ingest", "Media", "Program", "Segmenter",
                "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: testSettings),
    ]
)

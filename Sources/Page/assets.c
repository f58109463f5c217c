// SPDX-License-Identifier: Apache-2.0
#include "Page.h"

// The file uses C23, which the Swift toolchain's own compiler supports.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "openapi.json"
};
static const unsigned char index_html[] = {
#embed "Files/index.html"
};
static const unsigned char page_css[] = {
#embed "Files/page.css"
};
static const unsigned char program_css[] = {
#embed "Files/program.css"
};
static const unsigned char clips_css[] = {
#embed "Files/clips.css"
};
static const unsigned char icon_svg[] = {
#embed "Files/icon.svg"
};
static const unsigned char api_js[] = {
#embed "Files/api.js"
};
static const unsigned char clips_js[] = {
#embed "Files/clips.js"
};
static const unsigned char deck_js[] = {
#embed "Files/deck.js"
};
static const unsigned char dom_js[] = {
#embed "Files/dom.js"
};
static const unsigned char events_js[] = {
#embed "Files/events.js"
};
static const unsigned char film_js[] = {
#embed "Files/film.js"
};
static const unsigned char film_cell_js[] = {
#embed "Files/film-cell.js"
};
static const unsigned char film_plan_js[] = {
#embed "Files/film-plan.js"
};
static const unsigned char film_trim_js[] = {
#embed "Files/film-trim.js"
};
static const unsigned char glance_js[] = {
#embed "Files/glance.js"
};
static const unsigned char inputs_js[] = {
#embed "Files/inputs.js"
};
static const unsigned char live_preview_js[] = {
#embed "Files/live-preview.js"
};
static const unsigned char outputs_js[] = {
#embed "Files/outputs.js"
};
static const unsigned char page_js[] = {
#embed "Files/page.js"
};
static const unsigned char presses_js[] = {
#embed "Files/presses.js"
};
static const unsigned char snapshots_js[] = {
#embed "Files/snapshots.js"
};
static const unsigned char program_js[] = {
#embed "Files/program.js"
};
static const unsigned char program_bar_js[] = {
#embed "Files/program-bar.js"
};
static const unsigned char program_feed_js[] = {
#embed "Files/program-feed.js"
};
static const unsigned char program_preview_js[] = {
#embed "Files/program-preview.js"
};
static const unsigned char program_overlays_js[] = {
#embed "Files/program-overlays.js"
};
static const unsigned char program_rundown_js[] = {
#embed "Files/program-rundown.js"
};
static const unsigned char program_sources_js[] = {
#embed "Files/program-sources.js"
};
static const unsigned char recorder_js[] = {
#embed "Files/recorder.js"
};
static const unsigned char recordings_js[] = {
#embed "Files/recordings.js"
};
static const unsigned char scenes_js[] = {
#embed "Files/scenes.js"
};
static const unsigned char storage_js[] = {
#embed "Files/storage.js"
};
static const unsigned char thumbnails_js[] = {
#embed "Files/thumbnails.js"
};
static const unsigned char views_js[] = {
#embed "Files/views.js"
};
static const unsigned char words_js[] = {
#embed "Files/words.js"
};

#define SCRIPT "text/javascript; charset=utf-8"

static const struct relay_asset assets[] = {
    {"v1/openapi.json", "application/json", openapi, sizeof openapi},
    {"", "text/html; charset=utf-8", index_html, sizeof index_html},
    {"page.css", "text/css; charset=utf-8", page_css, sizeof page_css},
    {"program.css", "text/css; charset=utf-8", program_css, sizeof program_css},
    {"clips.css", "text/css; charset=utf-8", clips_css, sizeof clips_css},
    {"icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
    {"page/api.js", SCRIPT, api_js, sizeof api_js},
    {"page/clips.js", SCRIPT, clips_js, sizeof clips_js},
    {"page/deck.js", SCRIPT, deck_js, sizeof deck_js},
    {"page/dom.js", SCRIPT, dom_js, sizeof dom_js},
    {"page/events.js", SCRIPT, events_js, sizeof events_js},
    {"page/film.js", SCRIPT, film_js, sizeof film_js},
    {"page/film-cell.js", SCRIPT, film_cell_js, sizeof film_cell_js},
    {"page/film-plan.js", SCRIPT, film_plan_js, sizeof film_plan_js},
    {"page/film-trim.js", SCRIPT, film_trim_js, sizeof film_trim_js},
    {"page/glance.js", SCRIPT, glance_js, sizeof glance_js},
    {"page/inputs.js", SCRIPT, inputs_js, sizeof inputs_js},
    {"page/live-preview.js", SCRIPT, live_preview_js, sizeof live_preview_js},
    {"page/outputs.js", SCRIPT, outputs_js, sizeof outputs_js},
    {"page/page.js", SCRIPT, page_js, sizeof page_js},
    {"page/presses.js", SCRIPT, presses_js, sizeof presses_js},
    {"page/snapshots.js", SCRIPT, snapshots_js, sizeof snapshots_js},
    {"page/program.js", SCRIPT, program_js, sizeof program_js},
    {"page/program-bar.js", SCRIPT, program_bar_js, sizeof program_bar_js},
    {"page/program-feed.js", SCRIPT, program_feed_js, sizeof program_feed_js},
    {"page/program-preview.js", SCRIPT, program_preview_js, sizeof program_preview_js},
    {"page/program-overlays.js", SCRIPT, program_overlays_js, sizeof program_overlays_js},
    {"page/program-rundown.js", SCRIPT, program_rundown_js, sizeof program_rundown_js},
    {"page/program-sources.js", SCRIPT, program_sources_js, sizeof program_sources_js},
    {"page/recorder.js", SCRIPT, recorder_js, sizeof recorder_js},
    {"page/recordings.js", SCRIPT, recordings_js, sizeof recordings_js},
    {"page/scenes.js", SCRIPT, scenes_js, sizeof scenes_js},
    {"page/storage.js", SCRIPT, storage_js, sizeof storage_js},
    {"page/thumbnails.js", SCRIPT, thumbnails_js, sizeof thumbnails_js},
    {"page/views.js", SCRIPT, views_js, sizeof views_js},
    {"page/words.js", SCRIPT, words_js, sizeof words_js},
};

const struct relay_asset *relay_assets(size_t *count) {
    *count = sizeof assets / sizeof assets[0];
    return assets;
}

# SPDX-License-Identifier: Apache-2.0
"""How well words can be read over video: measured on the screen, over frames of one color, which real video is between."""

import json
import time

# `paintVideo(color)` shows frames of that color wherever the page shows video, and in what it draws of it;
# `wordsIn(selector)` tells where words are and in which color; `hideWords(isHidden)` takes them away;
# `contrasts(image, words)` compares them with what lies behind them.
TOOLS = """(() => {
    if (window.paintVideo) return true;
    const draw = CanvasRenderingContext2D.prototype.drawImage;
    let color = null;
    CanvasRenderingContext2D.prototype.drawImage = function (...all) {
        if (color === null || this.isTool) return draw.apply(this, all);
        const before = this.fillStyle;
        this.fillStyle = color;
        this.fillRect(0, 0, this.canvas.width, this.canvas.height);
        this.fillStyle = before;
    };
    const cover = document.createElement('div');
    window.paintVideo = (wanted) => {
        color = wanted;
        cover.style.cssText = `position:absolute;inset:0;background:${wanted}`;
        document.querySelector('#preview').after(cover);
        if (wanted === null) cover.remove();
        return true;
    };
    const tool = (width, height) => {
        const context = Object.assign(document.createElement('canvas'), {width, height})
            .getContext('2d', {willReadFrequently: true});
        context.isTool = true;
        return context;
    };
    const one = tool(1, 1);
    const rgb = (text) => {
        one.fillStyle = text;
        one.fillRect(0, 0, 1, 1);
        return [...one.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    window.wordsIn = (selector) => {
        const found = [];
        for (const root of document.querySelectorAll(selector)) {
            const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) {
                const {textContent: text, parentElement: node} = texts.currentNode;
                if (!text.trim() || !node.checkVisibility() || node.closest('.sr, .sr-only')) continue;
                const range = document.createRange();
                range.selectNodeContents(texts.currentNode);
                const {x, y, width, height} = range.getBoundingClientRect();
                const box = node.getBoundingClientRect();
                if (width < 2 || y < 0 || y + height > innerHeight) continue;
                found.push({text: text.trim(), color: rgb(getComputedStyle(node).color),
                    x: Math.max(x, box.x), y, width: Math.min(x + width, box.right) - Math.max(x, box.x), height});
            }
        }
        return found;
    };
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { color: transparent !important; transition: none !important; }');
    window.hideWords = (isHidden) => {
        document.adoptedStyleSheets = isHidden ? [sheet] : [];
        return true;
    };
    const luminance = (color) => {
        const [r, g, b] = color.map((value) => value / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    window.contrasts = async (data, words) => {
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const scale = image.width / innerWidth;
        const context = tool(image.width, image.height);
        context.drawImage(image, 0, 0);
        return words.map(({text, color, x, y, width, height}) => {
            const pixels = context.getImageData(x * scale, y * scale, Math.max(1, width * scale), Math.max(1, height * scale)).data;
            const front = luminance(color), found = [];
            for (let at = 0; at < pixels.length; at += 4) {
                const back = luminance([pixels[at], pixels[at + 1], pixels[at + 2]]);
                found.push((Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05));
            }
            found.sort((a, b) => a - b);
            // Borders of neighbors may lie within a word's box.
            return {text, contrast: found[Math.floor(found.length / 20)]};
        }).sort((a, b) => a.contrast - b.contrast);
    };
    return true;
})()"""


def worst(browser, selector, color):
    """The words below `selector` with their contrast over frames of this color, the least first."""
    browser.evaluate(TOOLS)
    browser.evaluate(f"window.paintVideo({json.dumps(color)})")
    # What lies behind glass is drawn once a second.
    time.sleep(1.3)
    words = browser.evaluate(f"window.wordsIn({json.dumps(selector)})")
    browser.evaluate("window.hideWords(true)")
    data = browser.command("Page.captureScreenshot", format="png")["data"]
    browser.evaluate("window.hideWords(false)")
    found = browser.evaluate(f"window.contrasts({json.dumps(data)}, {json.dumps(words)})")
    browser.evaluate("window.paintVideo(null)")
    return found

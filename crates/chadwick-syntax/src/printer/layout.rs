//! Lines from a stream of texts, possible breaks and groups.
//!
//! The printer describes the program as a flat list of items; a group that fits into what is left of the line stays on it, otherwise
//! all its own breaks become newlines. The list, its widths and the output are each made in one pass (after Oppen, *Prettyprinting*,
//! 1980), so printing takes linear time however deep the tree is.

/// The column that lines should not pass.
const WIDTH: usize = 100;

enum Item {
    Text(String),
    /// A space, or a newline where the group around it is broken.
    Space,
    /// Nothing, or a newline where the group around it is broken.
    Cut,
    Newline,
    /// Starts a group whose lines are indented this much further.
    Open(usize),
    Close,
}

#[derive(Default)]
pub(super) struct Layout {
    items: Vec<Item>,
}

impl Layout {
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.items.push(Item::Text(text.into()));
    }

    pub(super) fn space(&mut self) {
        self.items.push(Item::Space);
    }

    pub(super) fn cut(&mut self) {
        self.items.push(Item::Cut);
    }

    pub(super) fn newline(&mut self) {
        self.items.push(Item::Newline);
    }

    pub(super) fn open(&mut self, indent: usize) {
        self.items.push(Item::Open(indent));
    }

    pub(super) fn close(&mut self) {
        self.items.push(Item::Close);
    }

    pub(super) fn render(self) -> String {
        let widths = self.group_widths();
        let mut output = String::new();
        let mut column = 0;
        // The indentation that the next text of a fresh line gets.
        let mut pending = None;
        // Indentation and brokenness of the groups around.
        let mut groups: Vec<(usize, bool)> = vec![(0, true)];
        for (item, width) in self.items.iter().zip(widths) {
            let (indent, broken) = groups.last().copied().unwrap_or((0, true));
            match item {
                Item::Open(further) => groups.push((indent + further, column + width > WIDTH)),
                Item::Close => {
                    groups.pop();
                }
                Item::Text(text) => {
                    if let Some(indent) = pending.take() {
                        output.extend(std::iter::repeat_n(' ', indent));
                    }
                    output.push_str(text);
                    column += text.chars().count();
                }
                Item::Space if !broken => {
                    output.push(' ');
                    column += 1;
                }
                Item::Cut if !broken => {}
                Item::Newline | Item::Space | Item::Cut => {
                    output.push('\n');
                    column = indent;
                    pending = Some(indent);
                }
            }
        }
        output
    }

    /// For every `Open` the width of the group and of the text that sticks to its end; larger than any line if a newline is inside.
    fn group_widths(&self) -> Vec<usize> {
        const TOO_WIDE: usize = 1 << 20;
        let mut widths = vec![0; self.items.len()];
        // Walking backwards: width of everything behind, of the text up to the next break, and at each open `Close` both of them.
        let (mut behind, mut sticking) = (0usize, 0usize);
        let mut closes: Vec<(usize, usize)> = Vec::new();
        for (item, width) in self.items.iter().zip(&mut widths).rev() {
            match item {
                Item::Text(text) => {
                    let length = text.chars().count();
                    behind += length;
                    sticking += length;
                }
                Item::Space => (behind, sticking) = (behind + 1, 0),
                Item::Cut => sticking = 0,
                Item::Newline => (behind, sticking) = (behind + TOO_WIDE, 0),
                Item::Close => closes.push((behind, sticking)),
                Item::Open(_) => {
                    let (behind_group, sticking_to_group) = closes.pop().unwrap_or((0, 0));
                    *width = behind - behind_group + sticking_to_group;
                }
            }
        }
        widths
    }
}

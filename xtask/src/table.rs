//! Tables of text.

/// Rows under headings, in columns as wide as they need to be.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(ToString::to_string).collect()],
        }
    }

    pub fn add(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Prints the table, unless it has nothing but headings.
    pub fn print(&self) {
        if self.rows.len() > 1 {
            print!("{}", self.text());
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = self.width(column);
                // Words to the left, numbers to the right.
                if self.is_numeric(column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(String::len)
            .max()
            .unwrap_or(0)
    }

    fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self.rows[1..].iter().filter_map(|row| row.get(column));
        cells.all(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["kernel", "n"]);
        table.add(vec!["sum".into(), "7".into()]);
        table.add(vec!["reverse".into(), "10".into()]);
        assert_eq!(table.text(), "kernel    n\nsum       7\nreverse  10\n");
    }
}

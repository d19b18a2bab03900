//! The machines that the plots' files are from: `machines.csv` in the same folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Result;

/// The machine of each file, by the file's name.
pub struct Machines {
    path: PathBuf,
    machines: BTreeMap<String, String>,
}

impl Machines {
    /// Reads the machines of a folder; none if there is no `machines.csv`.
    pub fn read(folder: &Path) -> Result<Machines> {
        let path = folder.join("machines.csv");
        let mut machines = BTreeMap::new();
        if path.exists() {
            for line in csv::Reader::from_path(&path)?.into_deserialize() {
                let (file, machine): (String, String) = line?;
                machines.insert(file, machine);
            }
        }
        Ok(Machines { path, machines })
    }

    /// The machine of a file.
    pub fn of(&self, file: &str) -> &str {
        self.machines
            .get(file)
            .map_or("unknown machine", String::as_str)
    }

    /// Sets the machine of a file.
    pub fn set(&mut self, file: &str, machine: &str) -> Result<()> {
        self.machines.insert(file.to_owned(), machine.to_owned());
        let mut writer = csv::Writer::from_path(&self.path)?;
        writer.write_record(["file", "machine"])?;
        for (file, machine) in &self.machines {
            writer.write_record([file, machine])?;
        }
        Ok(writer.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::Machines;

    #[test]
    fn machines_are_kept_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut machines = Machines::read(folder.path()).unwrap();
        assert_eq!(machines.of("a.csv"), "unknown machine");
        machines.set("b.csv", "2 CPU threads").unwrap();
        machines.set("a.csv", "H100").unwrap();
        let machines = Machines::read(folder.path()).unwrap();
        assert_eq!(
            (machines.of("a.csv"), machines.of("b.csv")),
            ("H100", "2 CPU threads")
        );
    }
}

//! Temporary files beside the results, which an interrupted program removes.

use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// The files that there are. Who holds the lock may make, rename and remove them.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is removed when it is dropped, and by signals that end the program.
pub struct TemporaryFile {
    /// Gone once it is published.
    file: Option<NamedTempFile>,
}

impl TemporaryFile {
    /// Creates a file in a folder, with the permissions of the file that it will replace, or of any
    /// new file.
    pub fn create(folder: &Path, replaced: &Path) -> io::Result<TemporaryFile> {
        #[cfg(unix)]
        signals::watch()?;
        let permissions = fs::metadata(replaced).map(|file| file.permissions()).ok();
        TemporaryFile::create_with(folder, permissions)
    }

    /// Creates a file in the folder of temporary files, which only this user may read.
    pub fn create_private() -> io::Result<TemporaryFile> {
        #[cfg(unix)]
        signals::watch()?;
        #[cfg(unix)]
        let permissions = Some(std::os::unix::fs::PermissionsExt::from_mode(0o600));
        #[cfg(not(unix))]
        let permissions = None;
        TemporaryFile::create_with(&std::env::temp_dir(), permissions)
    }

    fn create_with(folder: &Path, permissions: Option<Permissions>) -> io::Result<TemporaryFile> {
        let mut files = lock();
        let file = builder(permissions.clone()).tempfile_in(folder)?;
        if let Some(permissions) = permissions.filter(|_| cfg!(unix)) {
            // The file was made with these permissions less the process's umask.
            file.as_file().set_permissions(permissions)?;
        }
        files.push(file.path().to_owned());
        Ok(TemporaryFile { file: Some(file) })
    }

    /// Returns the open file.
    pub fn as_file_mut(&mut self) -> &mut File {
        self.file.as_mut().expect("not published").as_file_mut()
    }

    /// Returns the path until the file is published.
    pub fn path(&self) -> &Path {
        self.file.as_ref().expect("not published").path()
    }

    /// Moves the file to its place, once its content is on the disk.
    pub fn publish(mut self, path: &Path) -> io::Result<()> {
        self.as_file_mut().sync_all()?;
        let files = lock();
        let file = self.file.take().expect("not published");
        let name = file.path().to_owned();
        // After an error it is removed.
        let published = file.persist(path);
        forget(files, &name);
        published?;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let name = file.path().to_owned();
            let files = lock();
            drop(file);
            forget(files, &name);
        }
    }
}

fn forget(mut files: MutexGuard<Vec<PathBuf>>, name: &Path) {
    files.retain(|file| file != name);
}

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    // A panic leaves the names of all files.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg_attr(not(unix), allow(unused_variables))]
fn builder(permissions: Option<Permissions>) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".gridstride-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(permissions.unwrap_or_else(|| Permissions::from_mode(0o666)));
    }
    builder
}

/// Signals that end the program.
#[cfg(unix)]
mod signals {
    use std::io;
    use std::process;
    use std::sync::{Arc, Once};
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// Begins to wait for signals, the first time it is called.
    pub fn watch() -> io::Result<()> {
        static ONCE: Once = Once::new();
        let mut result = Ok(());
        ONCE.call_once(|| result = start());
        result
    }

    fn start() -> io::Result<()> {
        // Writing beyond the limit of files fails, instead of ending the program.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        // As nohup and shells ask for, what is ignored stays so.
        let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];
        let mut signals = Signals::new(signals.into_iter().filter(|&signal| !is_ignored(signal)))?;
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || signals.forever().next().map(end))?;
        Ok(())
    }

    /// Removes all files and ends the program as the signal would have done.
    fn end(signal: i32) {
        // Held to the end, so that no file is made or published meanwhile.
        let files = super::lock();
        for file in files.iter() {
            // Nothing can be done if that fails.
            let _ = super::fs::remove_file(file);
        }
        let _ = emulate_default_handler(signal);
        process::exit(128 + signal);
    }

    fn is_ignored(signal: i32) -> bool {
        // SAFETY: zeros are a valid sigaction, whose fields are integers and sets of bits.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the action of the signal is written to `action`; null leaves it as it is.
        let status = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
        status == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

//! The #[kernel] attribute of cuda_std

//! Tensor maps of the driver.

use std::ptr::from_ref;

use cuda_std::host::TensorTiles;
use cuda_std::tensor::TensorMap;
use cust::sys::{
    self, CUtensorMapDataType as DataType, CUtensorMapFloatOOBfill as Fill,
    CUtensorMapInterleave as Interleave, CUtensorMapL2promotion as Promotion,
    CUtensorMapSwizzle as Swizzle,
};

use super::gpu::Gpu;
use crate::Result;

/// A map where the driver can write it.
#[repr(C, align(64))]
struct Aligned(TensorMap);

impl Gpu {
    /// Returns the map of tiles that have been checked.
    pub fn tensor_map(&self, tiles: &TensorTiles) -> Result<TensorMap> {
        let data_type = match tiles.element_bytes {
            1 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            2 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
            4 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            _ => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        };
        let swizzle = match tiles.is_swizzled {
            true => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            false => Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        };
        let mut map = Aligned(TensorMap::from_words([0; 16]));
        // The driver wants a context, though it uses none.
        let _bound = self.stream().primary().bind()?;
        // SAFETY: writes the 128 bytes of the map, which is aligned to 64, and reads the arrays: a
        // number for each of the three axes, or one less for the strides.
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                (&raw mut map.0).cast(),
                data_type,
                3,
                tiles.address as *mut _,
                from_ref(&tiles.lengths).cast(),
                from_ref(&tiles.strides).cast(),
                from_ref(&tiles.tile).cast(),
                [1; 3].as_ptr(),
                Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        self.check(result.to_result(), "making a tensor map")?;
        Ok(map.0)
    }
}

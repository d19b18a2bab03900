//! The table of the driver's functions.

/// Hands `fn name(parameter: type, …);` to the macro `$with`, for every function that cust calls
/// and for those of `cust::sys` that GPU code of today needs besides. All return a `CUresult`.
///
/// Names and parameters are those of NVIDIA's `cuda.h`. Types say how a parameter is passed and
/// nothing else: `Pointer` is any pointer, handle or callback, enumerations are `c_int`, device
/// addresses and texture and surface objects are `c_ulonglong`. No parameter is a float or a
/// struct. A test compares the table with cust's declarations.
///
/// `cuGetErrorName` and `cuGetErrorString` are not here: they answer without a driver too.
macro_rules! for_each_function {
    ($with:ident) => {
        $with! {
            // Start, devices.
            fn cuInit(flags: c_uint);
            fn cuDriverGetVersion(driver_version: Pointer);
            fn cuDeviceGet(device: Pointer, ordinal: c_int);
            fn cuDeviceGetCount(count: Pointer);
            fn cuDeviceGetName(name: Pointer, len: c_int, dev: c_int);
            fn cuDeviceGetUuid(uuid: Pointer, dev: c_int);
            fn cuDeviceTotalMem_v2(bytes: Pointer, dev: c_int);
            fn cuDeviceGetAttribute(pi: Pointer, attrib: c_int, dev: c_int);
            fn cuDeviceGetDefaultMemPool(pool_out: Pointer, dev: c_int);
            fn cuDeviceGetPCIBusId(pci_bus_id: Pointer, len: c_int, dev: c_int);
            fn cuDeviceCanAccessPeer(can_access_peer: Pointer, dev: c_int, peer_dev: c_int);

            // Contexts.
            fn cuDevicePrimaryCtxRetain(pctx: Pointer, dev: c_int);
            fn cuDevicePrimaryCtxRelease_v2(dev: c_int);
            fn cuDevicePrimaryCtxSetFlags_v2(dev: c_int, flags: c_uint);
            fn cuDevicePrimaryCtxGetState(dev: c_int, flags: Pointer, active: Pointer);
            fn cuDevicePrimaryCtxReset_v2(dev: c_int);
            fn cuCtxCreate_v2(pctx: Pointer, flags: c_uint, dev: c_int);
            fn cuCtxDestroy_v2(ctx: Pointer);
            fn cuCtxPushCurrent_v2(ctx: Pointer);
            fn cuCtxPopCurrent_v2(pctx: Pointer);
            fn cuCtxSetCurrent(ctx: Pointer);
            fn cuCtxGetCurrent(pctx: Pointer);
            fn cuCtxGetDevice(device: Pointer);
            fn cuCtxGetFlags(flags: Pointer);
            fn cuCtxSynchronize();
            fn cuCtxSetLimit(limit: c_int, value: usize);
            fn cuCtxGetLimit(pvalue: Pointer, limit: c_int);
            fn cuCtxGetCacheConfig(pconfig: Pointer);
            fn cuCtxSetCacheConfig(config: c_int);
            fn cuCtxGetSharedMemConfig(p_config: Pointer);
            fn cuCtxSetSharedMemConfig(config: c_int);
            fn cuCtxGetApiVersion(ctx: Pointer, version: Pointer);
            fn cuCtxGetStreamPriorityRange(least_priority: Pointer, greatest_priority: Pointer);
            fn cuCtxEnablePeerAccess(peer_context: Pointer, flags: c_uint);
            fn cuCtxDisablePeerAccess(peer_context: Pointer);

            // Modules and linking.
            fn cuModuleLoad(module: Pointer, fname: Pointer);
            fn cuModuleLoadData(module: Pointer, image: Pointer);
            fn cuModuleLoadDataEx(
                module: Pointer, image: Pointer, num_options: c_uint, options: Pointer,
                option_values: Pointer,
            );
            fn cuModuleLoadFatBinary(module: Pointer, fat_cubin: Pointer);
            fn cuModuleUnload(hmod: Pointer);
            fn cuModuleGetFunction(hfunc: Pointer, hmod: Pointer, name: Pointer);
            fn cuModuleGetGlobal_v2(dptr: Pointer, bytes: Pointer, hmod: Pointer, name: Pointer);
            fn cuLinkCreate_v2(
                num_options: c_uint, options: Pointer, option_values: Pointer, state_out: Pointer,
            );
            fn cuLinkAddData_v2(
                state: Pointer, kind: c_int, data: Pointer, size: usize, name: Pointer,
                num_options: c_uint, options: Pointer, option_values: Pointer,
            );
            fn cuLinkComplete(state: Pointer, cubin_out: Pointer, size_out: Pointer);
            fn cuLinkDestroy(state: Pointer);

            // Kernels.
            fn cuFuncGetAttribute(pi: Pointer, attrib: c_int, hfunc: Pointer);
            fn cuFuncSetAttribute(hfunc: Pointer, attrib: c_int, value: c_int);
            fn cuFuncSetCacheConfig(hfunc: Pointer, config: c_int);
            fn cuFuncSetSharedMemConfig(hfunc: Pointer, config: c_int);
            fn cuLaunchKernel(
                f: Pointer, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint,
                block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint,
                shared_mem_bytes: c_uint, stream: Pointer, kernel_params: Pointer, extra: Pointer,
            );
            fn cuLaunchCooperativeKernel(
                f: Pointer, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint,
                block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint,
                shared_mem_bytes: c_uint, stream: Pointer, kernel_params: Pointer,
            );
            fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
                num_blocks: Pointer, func: Pointer, block_size: c_int, dynamic_smem_size: usize,
            );
            fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                num_blocks: Pointer, func: Pointer, block_size: c_int, dynamic_smem_size: usize,
                flags: c_uint,
            );
            fn cuOccupancyMaxPotentialBlockSize(
                min_grid_size: Pointer, block_size: Pointer, func: Pointer,
                block_size_to_dynamic_smem_size: Pointer, dynamic_smem_size: usize,
                block_size_limit: c_int,
            );
            fn cuOccupancyMaxPotentialBlockSizeWithFlags(
                min_grid_size: Pointer, block_size: Pointer, func: Pointer,
                block_size_to_dynamic_smem_size: Pointer, dynamic_smem_size: usize,
                block_size_limit: c_int, flags: c_uint,
            );
            fn cuOccupancyAvailableDynamicSMemPerBlock(
                dynamic_smem_size: Pointer, func: Pointer, num_blocks: c_int, block_size: c_int,
            );

            // Memory.
            fn cuMemGetInfo_v2(free: Pointer, total: Pointer);
            fn cuMemAlloc_v2(dptr: Pointer, bytesize: usize);
            fn cuMemAllocPitch_v2(
                dptr: Pointer, p_pitch: Pointer, width_in_bytes: usize, height: usize,
                element_size_bytes: c_uint,
            );
            fn cuMemFree_v2(dptr: c_ulonglong);
            fn cuMemGetAddressRange_v2(pbase: Pointer, psize: Pointer, dptr: c_ulonglong);
            fn cuMemAllocHost_v2(pp: Pointer, bytesize: usize);
            fn cuMemFreeHost(p: Pointer);
            fn cuMemHostAlloc(pp: Pointer, bytesize: usize, flags: c_uint);
            fn cuMemHostGetDevicePointer_v2(pdptr: Pointer, p: Pointer, flags: c_uint);
            fn cuMemAllocManaged(dptr: Pointer, bytesize: usize, flags: c_uint);
            fn cuMemHostRegister_v2(p: Pointer, bytesize: usize, flags: c_uint);
            fn cuMemHostUnregister(p: Pointer);
            fn cuMemFreeAsync(dptr: c_ulonglong, stream: Pointer);
            fn cuMemAllocAsync(dptr: Pointer, bytesize: usize, stream: Pointer);
            fn cuMemAllocFromPoolAsync(dptr: Pointer, bytesize: usize, pool: Pointer, stream: Pointer);
            fn cuMemPoolCreate(pool: Pointer, pool_props: Pointer);
            fn cuMemPoolDestroy(pool: Pointer);
            fn cuMemPoolTrimTo(pool: Pointer, min_bytes_to_keep: usize);
            fn cuMemPoolSetAttribute(pool: Pointer, attr: c_int, value: Pointer);
            fn cuMemPoolGetAttribute(pool: Pointer, attr: c_int, value: Pointer);
            fn cuPointerGetAttribute(data: Pointer, attribute: c_int, ptr: c_ulonglong);
            fn cuMemPrefetchAsync(
                dev_ptr: c_ulonglong, count: usize, dst_device: c_int, stream: Pointer,
            );
            fn cuMemAdvise(dev_ptr: c_ulonglong, count: usize, advice: c_int, device: c_int);

            // Copies and fills.
            fn cuMemcpyHtoD_v2(dst_device: c_ulonglong, src_host: Pointer, byte_count: usize);
            fn cuMemcpyDtoH_v2(dst_host: Pointer, src_device: c_ulonglong, byte_count: usize);
            fn cuMemcpyDtoD_v2(dst_device: c_ulonglong, src_device: c_ulonglong, byte_count: usize);
            fn cuMemcpyHtoA_v2(
                dst_array: Pointer, dst_offset: usize, src_host: Pointer, byte_count: usize,
            );
            fn cuMemcpyAtoH_v2(
                dst_host: Pointer, src_array: Pointer, src_offset: usize, byte_count: usize,
            );
            fn cuMemcpy2D_v2(p_copy: Pointer);
            fn cuMemcpy2DUnaligned_v2(p_copy: Pointer);
            fn cuMemcpy3D_v2(p_copy: Pointer);
            fn cuMemcpyAsync(
                dst: c_ulonglong, src: c_ulonglong, byte_count: usize, stream: Pointer,
            );
            fn cuMemcpyPeerAsync(
                dst_device: c_ulonglong, dst_context: Pointer, src_device: c_ulonglong,
                src_context: Pointer, byte_count: usize, stream: Pointer,
            );
            fn cuMemcpyHtoDAsync_v2(
                dst_device: c_ulonglong, src_host: Pointer, byte_count: usize, stream: Pointer,
            );
            fn cuMemcpyDtoHAsync_v2(
                dst_host: Pointer, src_device: c_ulonglong, byte_count: usize, stream: Pointer,
            );
            fn cuMemcpyDtoDAsync_v2(
                dst_device: c_ulonglong, src_device: c_ulonglong, byte_count: usize,
                stream: Pointer,
            );
            fn cuMemcpy2DAsync_v2(p_copy: Pointer, stream: Pointer);
            fn cuMemcpy3DAsync_v2(p_copy: Pointer, stream: Pointer);
            fn cuMemsetD8_v2(dst_device: c_ulonglong, uc: c_uchar, n: usize);
            fn cuMemsetD16_v2(dst_device: c_ulonglong, us: c_ushort, n: usize);
            fn cuMemsetD32_v2(dst_device: c_ulonglong, ui: c_uint, n: usize);
            fn cuMemsetD8Async(dst_device: c_ulonglong, uc: c_uchar, n: usize, stream: Pointer);
            fn cuMemsetD16Async(dst_device: c_ulonglong, us: c_ushort, n: usize, stream: Pointer);
            fn cuMemsetD32Async(dst_device: c_ulonglong, ui: c_uint, n: usize, stream: Pointer);
            fn cuMemsetD2D8Async(
                dst_device: c_ulonglong, dst_pitch: usize, uc: c_uchar, width: usize, height: usize,
                stream: Pointer,
            );
            fn cuMemsetD2D32Async(
                dst_device: c_ulonglong, dst_pitch: usize, ui: c_uint, width: usize, height: usize,
                stream: Pointer,
            );

            // Streams and events.
            fn cuStreamCreate(stream: Pointer, flags: c_uint);
            fn cuStreamCreateWithPriority(stream: Pointer, flags: c_uint, priority: c_int);
            fn cuStreamGetPriority(stream: Pointer, priority: Pointer);
            fn cuStreamGetFlags(stream: Pointer, flags: Pointer);
            fn cuStreamGetCtx(stream: Pointer, pctx: Pointer);
            fn cuStreamWaitEvent(stream: Pointer, event: Pointer, flags: c_uint);
            fn cuStreamBeginCapture_v2(stream: Pointer, mode: c_int);
            fn cuStreamEndCapture(stream: Pointer, graph: Pointer);
            fn cuStreamIsCapturing(stream: Pointer, capture_status: Pointer);
            fn cuStreamQuery(stream: Pointer);
            fn cuStreamSynchronize(stream: Pointer);
            fn cuStreamDestroy_v2(stream: Pointer);
            fn cuEventCreate(event: Pointer, flags: c_uint);
            fn cuEventRecord(event: Pointer, stream: Pointer);
            fn cuEventRecordWithFlags(event: Pointer, stream: Pointer, flags: c_uint);
            fn cuEventQuery(event: Pointer);
            fn cuEventSynchronize(event: Pointer);
            fn cuEventDestroy_v2(event: Pointer);
            fn cuEventElapsedTime(p_milliseconds: Pointer, start: Pointer, end: Pointer);
            fn cuLaunchHostFunc(stream: Pointer, function: Pointer, user_data: Pointer);

            // Graphs.
            fn cuGraphCreate(graph: Pointer, flags: c_uint);
            fn cuGraphAddKernelNode(
                graph_node: Pointer, graph: Pointer, dependencies: Pointer, num_dependencies: usize,
                node_params: Pointer,
            );
            fn cuGraphKernelNodeGetParams(node: Pointer, node_params: Pointer);
            fn cuGraphNodeGetType(node: Pointer, kind: Pointer);
            fn cuGraphGetNodes(graph: Pointer, nodes: Pointer, num_nodes: Pointer);
            fn cuGraphGetEdges(graph: Pointer, from: Pointer, to: Pointer, num_edges: Pointer);
            fn cuGraphInstantiate_v2(
                graph_exec: Pointer, graph: Pointer, error_node: Pointer, log_buffer: Pointer,
                buffer_size: usize,
            );
            fn cuGraphInstantiateWithFlags(graph_exec: Pointer, graph: Pointer, flags: c_ulonglong);
            fn cuGraphUpload(graph_exec: Pointer, stream: Pointer);
            fn cuGraphLaunch(graph_exec: Pointer, stream: Pointer);
            fn cuGraphExecDestroy(graph_exec: Pointer);
            fn cuGraphDestroy(graph: Pointer);
            fn cuGraphDebugDotPrint(graph: Pointer, path: Pointer, flags: c_uint);

            // Arrays, textures, surfaces.
            fn cuArrayDestroy(array: Pointer);
            fn cuArray3DCreate_v2(p_handle: Pointer, p_allocate_array: Pointer);
            fn cuArray3DGetDescriptor_v2(p_array_descriptor: Pointer, array: Pointer);
            fn cuTexObjectCreate(
                p_tex_object: Pointer, p_res_desc: Pointer, p_tex_desc: Pointer,
                p_res_view_desc: Pointer,
            );
            fn cuTexObjectDestroy(tex_object: c_ulonglong);
            fn cuTexObjectGetResourceDesc(p_res_desc: Pointer, tex_object: c_ulonglong);
            fn cuSurfObjectCreate(p_surf_object: Pointer, p_res_desc: Pointer);
            fn cuSurfObjectDestroy(surf_object: c_ulonglong);
            fn cuSurfObjectGetResourceDesc(p_res_desc: Pointer, surf_object: c_ulonglong);

            // Other.
            fn cuImportExternalMemory(ext_mem_out: Pointer, mem_handle_desc: Pointer);
            fn cuExternalMemoryGetMappedBuffer(
                dev_ptr: Pointer, ext_mem: Pointer, buffer_desc: Pointer,
            );
            fn cuDestroyExternalMemory(ext_mem: Pointer);
            fn cuProfilerStart();
            fn cuProfilerStop();
        }
    };
}

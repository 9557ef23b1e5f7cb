//! A large stack for native code: recursion a million calls deep needs one.
//!
//! The address space is reserved, not used: pages become real when they are touched, and are given back after the call.

use std::cell::RefCell;

/// How much address space to ask for; less if the system does not want to.
const RESERVED: [usize; 4] = [64 << 30, 16 << 30, 4 << 30, 512 << 20];

/// Below this distance from the end, native code reports an error. What it calls needs room, too.
const MARGIN: usize = 1 << 20;

struct Stack {
    base: *mut u8,
    size: usize,
}

thread_local! {
    static STACK: RefCell<Option<Stack>> = const { RefCell::new(None) };
}

impl Stack {
    #[expect(unsafe_code, reason = "asks the system for memory")]
    fn reserve() -> Option<Stack> {
        for size in RESERVED {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new private mapping at an address of the system's choice touches nothing that exists.
            let base = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
            if base != libc::MAP_FAILED {
                // Deep recursion touches much of it, and large pages are faster to get. A wish: failure is no matter.
                // SAFETY: the mapping is ours.
                unsafe { libc::madvise(base, size, libc::MADV_HUGEPAGE) };
                return Some(Stack { base: base.cast(), size });
            }
        }
        None
    }

    /// Gives pages back, except those that every call needs.
    #[expect(unsafe_code, reason = "tells the system about our memory")]
    fn give_back(&self) {
        // SAFETY: nothing runs on the stack now, so nothing in it is needed.
        unsafe {
            libc::madvise(self.base.cast(), self.size - MARGIN, libc::MADV_DONTNEED);
        }
    }
}

impl Drop for Stack {
    #[expect(unsafe_code, reason = "gives memory back")]
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing runs on it when it is dropped.
        unsafe {
            libc::munmap(self.base.cast(), self.size);
        }
    }
}

/// Runs `work` on the large stack of this thread, of which it may use so many bytes. It gets the lowest address it may use.
///
/// `work` must not panic, and must not come here again.
#[expect(unsafe_code, reason = "changes the stack")]
pub fn on_large_stack<T>(bytes: usize, deep: bool, work: impl FnOnce(*mut u8) -> T) -> T {
    STACK.with(|cell| {
        let Ok(mut slot) = cell.try_borrow_mut() else { return work(std::ptr::null_mut()) };
        if slot.is_none() {
            *slot = Stack::reserve();
        }
        let Some(stack) = slot.as_ref() else { return work(std::ptr::null_mut()) };
        let usable = bytes.clamp(4 * MARGIN, stack.size) - MARGIN;
        // SAFETY: the limit lies within the mapping.
        let limit = unsafe { stack.base.add(stack.size - usable) };
        // SAFETY: the region is ours, nothing else runs on it (the cell is borrowed), and native code does not unwind.
        let result = unsafe { psm::on_stack(stack.base, stack.size, || work(limit)) };
        if deep {
            stack.give_back();
        }
        result
    })
}

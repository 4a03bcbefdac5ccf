//! Address spaces: mappings and marked pages.

use crate::physics::{PAGE, Region, Touch};
use crate::time::Ns;

use super::NOWHERE;

/// An address space.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// Number of threads.
    pub users: u32,
    /// Earliest time of the next scan; `None` for a fresh image before its first tick.
    pub next_scan: Option<Ns>,
    /// Number of complete passes.
    pub passes: u32,
    /// Regions that have been touched, in the order of their first touches.
    maps: Vec<Mapping>,
    pub image: Image,
    /// Pages inherited from the main task, and how many of them are marked.
    pub inherited: u64,
    pub inherited_marked: u64,
    /// Position at which the next scan continues: a mapping, the image after all mappings, or the inherited pages after the image,
    /// and a granule or page there.
    at: (usize, usize),
}

/// A region in an address space.
#[derive(Debug)]
pub(super) struct Mapping {
    region: u32,
    /// Sum of all marks' pages.
    marked: u64,
    /// Marks by granule; empty before the first scan.
    pub marks: Vec<Mark>,
    /// Pages in the page table, by granule, and their sum: the pages that this address space has touched. Empty for private
    /// regions, because the region counts its touched pages.
    present: Vec<u32>,
    populated: u64,
}

/// A granule's marked pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub pages: u32,
    /// Whether no page has been touched since the granule was marked. The first touch counts for all pages of the granule.
    pub fresh: bool,
}

/// The private memory of a fresh image: one piece, on one node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image {
    pub pages: u64,
    pub node: u8,
    /// Run time at which the computation began, and the length of the computation.
    pub began: Ns,
    pub total: Ns,
    /// Pages touched since the computation began.
    pub touched: u64,
    pub marked: u64,
    pub fresh: bool,
    pub last_fault: u8,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            pages: 0,
            node: 0,
            began: 0,
            total: 0,
            touched: 0,
            marked: 0,
            fresh: false,
            last_fault: NOWHERE,
        }
    }
}

impl Image {
    /// Image of this many bytes on a node.
    pub fn new(bytes: u64, node: u8, total: Ns) -> Self {
        Self { pages: bytes.div_ceil(PAGE), node, total, ..Self::default() }
    }
}

/// Decision of [`vote`] on a granule's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vote {
    Stays,
    Moves,
}

/// Evaluate a marked page's fault from `node`. Two consecutive faults from the same node move the page, unless the node is
/// the page's home. Only a granule's first touch after marking can be the second fault, because later touches are of pages
/// that have been touched once.
pub(super) fn vote(last: &mut u8, fresh: &mut bool, home: u8, node: u8) -> Vote {
    let second = *fresh && *last == node;
    (*last, *fresh) = (node, false);
    if second && home != node { Vote::Moves } else { Vote::Stays }
}

impl Space {
    /// Mapping of a region; created by the first touch.
    pub fn mapping(&mut self, region: u32) -> &mut Mapping {
        let existing = self.maps.iter().position(|map| map.region == region);
        let at = existing.unwrap_or_else(|| {
            self.maps.push(Mapping {
                region,
                marked: 0,
                marks: Vec::new(),
                present: Vec::new(),
                populated: 0,
            });
            self.maps.len() - 1
        });
        &mut self.maps[at]
    }

    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn mappings(&self) -> &[Mapping] {
        &self.maps
    }

    /// Marked pages.
    pub fn marked(&self) -> u64 {
        self.maps.iter().map(|map| map.marked).sum::<u64>() + self.image.marked + self.inherited_marked
    }

    /// Number of present pages.
    pub fn pages(&self, regions: &[Region]) -> u64 {
        let present = |map: &Mapping| {
            if map.present.is_empty() { regions[map.region as usize].populated } else { map.populated }
        };
        self.maps.iter().map(present).sum::<u64>() + self.image.pages + self.inherited
    }

    /// Walk up to `budget` pages from the end of the last scan and mark these pages, except private pages on the node
    /// `spared`, and inherited pages if `spares_shared`, because several processes share them. Return the number of walked and of newly marked pages.
    pub fn scan(
        &mut self,
        regions: &[Region],
        shared: &[bool],
        budget: u64,
        spared: Option<u8>,
        spares_shared: bool,
    ) -> (u64, u64) {
        let (mut walked, mut marked) = (0, 0);
        while self.at.0 < self.maps.len() && walked < budget {
            let map = &mut self.maps[self.at.0];
            let region = &regions[map.region as usize];
            let spared = spared.filter(|_| !shared[map.region as usize]);
            map.marks.resize(region.home.len(), Mark::default());
            while self.at.1 < map.marks.len() && walked < budget {
                let granule = self.at.1;
                let present = map.present_pages(region, granule);
                self.at.1 += 1;
                walked += u64::from(present);
                let mark = &mut map.marks[granule];
                if present > mark.pages && Some(region.home[granule]) != spared {
                    marked += u64::from(present - mark.pages);
                    map.marked += u64::from(present - mark.pages);
                    *mark = Mark { pages: present, fresh: true };
                }
            }
            if self.at.1 == map.marks.len() {
                self.at = (self.at.0 + 1, 0);
            }
        }
        if self.at.0 == self.maps.len() {
            let image = &mut self.image;
            let part = (image.pages - (self.at.1 as u64).min(image.pages)).min(budget - walked.min(budget));
            walked += part;
            self.at.1 += part as usize;
            let fresh = part.min(image.pages - image.marked);
            if fresh > 0 && Some(image.node) != spared {
                marked += fresh;
                image.marked += fresh;
                image.fresh = true;
            }
            if self.at.1 as u64 >= image.pages {
                self.at = (self.maps.len() + 1, 0);
            }
        }
        if self.at.0 > self.maps.len() {
            let left = self.inherited - (self.at.1 as u64).min(self.inherited);
            let part = left.min(budget - walked.min(budget));
            walked += part;
            self.at.1 += part as usize;
            let fresh = if spares_shared { 0 } else { part.min(self.inherited - self.inherited_marked) };
            marked += fresh;
            self.inherited_marked += fresh;
            if self.at.1 as u64 >= self.inherited {
                self.at = (0, 0);
                self.passes += 1;
            }
        }
        (walked, marked)
    }
}

impl Mapping {
    /// Whether any page is marked.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.marked > 0
    }

    /// Record that this address space touches a part of a shared region.
    pub fn note_touch(&mut self, region: &Region, touch: &Touch) {
        let size = region.granule_pages();
        if self.populated == u64::from(size) * region.granule_count() as u64 {
            return;
        }
        self.present.resize(region.granule_count(), 0);
        for (granule, pages) in region.parts(touch) {
            let fresh = pages.min(size - self.present[granule]);
            self.present[granule] += fresh;
            self.populated += u64::from(fresh);
        }
    }

    /// Number of a granule's pages in the page table.
    fn present_pages(&self, region: &Region, granule: usize) -> u32 {
        self.present.get(granule).copied().unwrap_or(region.touched[granule])
    }

    /// Remove the marks of up to `pages` pages of a granule; return the number of removed marks.
    pub fn take(&mut self, granule: usize, pages: u32) -> u32 {
        let mark = &mut self.marks[granule];
        let removed = mark.pages.min(pages);
        mark.pages -= removed;
        self.marked -= u64::from(removed);
        removed
    }

    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn verify(&self, regions: &[Region]) {
        let region = &regions[self.region as usize];
        let sum: u64 = self.marks.iter().map(|mark| u64::from(mark.pages)).sum();
        assert_eq!(self.marked, sum, "marks of region {} sum up", self.region);
        let present = |granule| self.present_pages(region, granule);
        let only_present =
            self.marks.iter().enumerate().all(|(granule, mark)| mark.pages <= present(granule));
        assert!(only_present, "only present pages of region {} are marked", self.region);
        let only_touched =
            self.present.iter().zip(&region.touched).all(|(present, touched)| present <= touched);
        assert!(only_touched, "only touched pages of region {} are present", self.region);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/numa/space.rs"]
mod tests;

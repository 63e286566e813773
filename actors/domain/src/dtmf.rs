//! stub
#![allow(missing_docs)]
use crate::audio::SampleRate;
pub struct Detector; pub struct Tone{pub digit:char,pub start_frame:u64,pub end_frame:u64}
impl Detector { pub fn new(_:SampleRate)->Self{Self} pub fn push(&mut self,_:&[i16],_:&mut Vec<Tone>){} pub fn finish(&mut self,_:&mut Vec<Tone>){} }

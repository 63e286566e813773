//! stub
#![allow(missing_docs)]
use crate::audio::SampleRate;
pub struct Meter; pub struct Reading{pub start_frame:u64,pub end_frame:u64,pub peak_dbfs:f64,pub rms_dbfs:f64}
impl Meter { pub fn new(_:SampleRate,_:u64)->Self{Self} pub fn push(&mut self,_:&[i16],_:&mut Vec<Reading>){} pub fn finish(&mut self,_:&mut Vec<Reading>){} }

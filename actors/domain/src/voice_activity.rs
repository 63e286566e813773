//! stub
#![allow(missing_docs)]
use crate::audio::SampleRate;
#[derive(Clone,Copy)] pub struct Settings{pub sensitivity:f32,pub speech_trigger_msec:u64,pub silence_trigger_msec:u64,pub maximum_speech_msec:u64}
#[derive(Clone,Copy)] pub enum EndReason{Silence,MaximumSpeech,EndOfAudio}
pub enum Change{Started{start_frame:u64},Ended{start_frame:u64,end_frame:u64,reason:EndReason}}
pub struct VoiceActivity;
impl VoiceActivity { pub fn new(_:SampleRate,_:Settings)->Self{Self} pub fn push(&mut self,_:&[i16],_:&mut Vec<Change>){} pub fn finish(&mut self,_:&mut Vec<Change>){} pub fn set(&mut self,_:Settings){} }

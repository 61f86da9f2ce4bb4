//! Files on their way out: a piece at a time, however large they are and however slowly they are
//! read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use shield_protocol::Name;
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};

use crate::caller::Caller;
use crate::limits::Turn;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::Object;

/// How much of a file is in memory at once.
const PIECE: usize = 64 << 10;

/// A file that is read as it is sent. The turn of whoever fetches it ends with it.
struct FileBody {
    file: File,
    left: u64,
    piece: Box<[u8]>,
    _turn: Turn,
}

impl http_body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let mut buffer = ReadBuf::new(&mut this.piece);
        if let Err(error) = ready!(Pin::new(&mut this.file).poll_read(context, &mut buffer)) {
            return Poll::Ready(Some(Err(error)));
        }
        let read = buffer.filled();
        if read.is_empty() {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        this.left = this.left.saturating_sub(read.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(read)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Service {
    /// Sends a file, once it is known to be what was written. Few at a time for each token.
    pub(crate) async fn send(
        &self,
        caller: &Caller,
        name: Name,
        object: Object,
        hash: String,
    ) -> Result<Response, Problem> {
        let turn = self.downloads.enter(&caller.token).ok_or_else(|| {
            Problem::too_many("this token fetches as many files as it may at once; wait for one")
        })?;
        let erased = self.store.erased(&name).await?;
        if !erased.is_empty() && matches!(object, Object::Ballot { .. }) {
            return Err(Problem::not_found("the ballots of this election were deleted"));
        }
        let store = self.store.clone();
        // The whole file is read here. Its turn is over when that is, though the caller hangs up.
        let opened = tokio::task::spawn_blocking(move || {
            store.open_file(&name, object, &hash).map(|(file, left)| (file, left, turn))
        });
        let (file, left, turn) = opened.await.map_err(Problem::internal)??;
        let mut file = File::from_std(file);
        file.set_max_buf_size(PIECE);
        let body = FileBody { file, left, piece: vec![0; PIECE].into(), _turn: turn };
        let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
        Ok((kind, Body::new(body)).into_response())
    }
}

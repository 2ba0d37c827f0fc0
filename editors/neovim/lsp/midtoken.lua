-- How Neovim starts midtoken: `vim.lsp.enable('midtoken')` takes it from here, and
-- `vim.lsp.config('midtoken', {…})` changes it.

---@type vim.lsp.Config
return {
  cmd = { 'midtoken', 'serve', '--stdio' },

  root_markers = { '.git' },

  handlers = {
    ['midtoken/status'] = function(_, status)
      require('midtoken.status').update(status)
    end,
  },

  on_exit = function(code, signal)
    require('midtoken.server').ended(code, signal)
  end,
}

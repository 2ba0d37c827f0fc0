-- `:Midtoken`, and a word if the server can't start; everything else is loaded when it is used.

if vim.g.loaded_midtoken then
  return
end
vim.g.loaded_midtoken = true

vim.api.nvim_create_user_command('Midtoken', function(call)
  require('midtoken.commands').run(call.fargs)
end, {
  nargs = '*',
  desc = 'midtoken: status, restart, toggle, explain, report, log, doctor',
  complete = function(lead, line)
    return require('midtoken.commands').complete(lead, line)
  end,
})

-- Neovim passes over a server whose program is missing, and writes that to its log alone.
vim.api.nvim_create_autocmd('FileType', {
  group = vim.api.nvim_create_augroup('midtoken.missing', {}),
  callback = function(event)
    if vim.bo[event.buf].buftype == '' and vim.lsp.is_enabled('midtoken') then
      require('midtoken.server').can_start()
    end
  end,
})
